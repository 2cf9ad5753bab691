import { EngineCore } from './engine-core.js';
import type { EngineEvent } from './engine-gauges.js';
import { prefixKeysOf } from './kv-cache.js';
import { FAST, SLOTS, VOLTA, type EngineProfile } from './profiles.js';

/** Small enough that slots, memory and budget all run out. */
const TINY: EngineProfile = { ...VOLTA, slots: 3, stepTokens: 64, blockTokens: 4, blocks: 24 };

/** Runs the engine dry; every event with the time at the end of its step, in ms. */
function drain(core: EngineCore): { atMs: number; event: EngineEvent }[] {
  const seen: { atMs: number; event: EngineEvent }[] = [];
  let atMs = 0;
  for (let stepMs = core.beginStep(); stepMs !== undefined; stepMs = core.beginStep()) {
    atMs += stepMs;
    for (const event of core.endStep()) seen.push({ atMs, event });
  }
  for (const event of core.takeEvents()) seen.push({ atMs, event });
  return seen;
}

function firstTokenSeconds(profile: EngineProfile, promptTokens: number): number {
  const core = new EngineCore(profile);
  core.submit({ id: 'a', promptTokens, outputTokens: 1 });
  return (drain(core).find(({ event }) => event.kind === 'first')?.atMs ?? NaN) / 1_000;
}

const ended = (events: readonly EngineEvent[]): string[] =>
  events.filter(({ kind }) => kind !== 'first' && kind !== 'tokens').map(({ kind, id }) => `${kind} ${id}`);

describe('EngineCore: cost', () => {
  it.each([
    [500, 0.87],
    [8_000, 15.4],
    [65_000, 251],
  ])('brings the first token of %d prompt tokens after %d s on an idle Volta', (promptTokens, seconds) => {
    expect(firstTokenSeconds(VOLTA, promptTokens) / seconds).toBeCloseTo(1, 2);
  });

  it('is far quicker on a fast card', () => {
    expect(firstTokenSeconds(FAST, 8_000)).toBeLessThan(0.6);
  });

  it('makes a decoder wait while the chunk of a long prompt is computed beside it', () => {
    const core = new EngineCore(VOLTA);
    core.submit({ id: 'chat', promptTokens: 10, outputTokens: 3 });
    core.beginStep();
    core.endStep();
    const alone = core.beginStep() ?? NaN;
    core.endStep();
    core.submit({ id: 'long', promptTokens: 65_000, outputTokens: 1 });
    const beside = core.beginStep() ?? NaN;
    expect(alone).toBeCloseTo(47, 0);
    expect(beside).toBeGreaterThan(3_400);
  });

  it('serves every request of the plain slots in two seconds, four at a time', () => {
    const core = new EngineCore(SLOTS);
    for (const id of ['a', 'b', 'c', 'd', 'e']) core.submit({ id, promptTokens: 5_000, outputTokens: 40 });
    const ends = drain(core).filter(({ event }) => event.kind === 'finished');
    expect(ends.map(({ event, atMs }) => [event.id, Math.round(atMs / 100) / 10])).toEqual([
      ['a', 2],
      ['b', 2],
      ['c', 2],
      ['d', 2],
      ['e', 4],
    ]);
    expect(core.gauges().peakRunning).toBe(4);
  });

  it('holds the place of a short answer for the whole service', () => {
    const core = new EngineCore(SLOTS);
    core.submit({ id: 'a', promptTokens: 1, outputTokens: 1 });
    expect(drain(core).at(-1)?.atMs).toBeCloseTo(2_000);
  });
});

describe('EngineCore: scheduling', () => {
  it('counts the prompt when its first token comes out, not chunk by chunk', () => {
    const core = new EngineCore({ ...VOLTA, stepTokens: 100 });
    core.submit({ id: 'a', promptTokens: 150, outputTokens: 2 });
    core.beginStep();
    core.endStep();
    expect(core.gauges()).toMatchObject({ promptTokens: 0, running: 1, usedBlocks: 7 });
    core.beginStep();
    core.endStep();
    expect(core.gauges()).toMatchObject({ promptTokens: 150, generationTokens: 1 });
  });

  it('takes from the one that came last when the memory runs out, and serves it later', () => {
    const core = new EngineCore({ ...TINY, blocks: 10 });
    core.submit({ id: 'old', promptTokens: 16, outputTokens: 20 });
    core.submit({ id: 'young', promptTokens: 16, outputTokens: 20 });
    const order = ended(drain(core).map(({ event }) => event));
    expect(order).toEqual(['finished old', 'finished young']);
    expect(core.gauges().preemptions).toBeGreaterThan(0);
    expect(core.gauges().generationTokens).toBe(40);
  });

  it('puts the one that gave way in front of those who wait, and lets nobody in during that step', () => {
    const core = new EngineCore({ ...TINY, slots: 2, blocks: 10, prefillChunkTokens: 4 });
    core.submit({ id: 'old', promptTokens: 16, outputTokens: 20 });
    core.submit({ id: 'young', promptTokens: 16, outputTokens: 20 });
    core.submit({ id: 'next', promptTokens: 4, outputTokens: 1 });
    for (core.beginStep(); core.gauges().preemptions === 0; core.beginStep()) core.endStep();
    expect(core.gauges()).toMatchObject({ running: 1, waiting: 2 });
    core.endStep();
    const order = ended(drain(core).map(({ event }) => event));
    expect(order).toEqual(['finished old', 'finished next', 'finished young']);
  });

  it('computes a prefix once, and keeps it for those who come later', () => {
    const core = new EngineCore(VOLTA);
    const prefixKeys = prefixKeysOf('x'.repeat(4 * 160), 4 * 16);
    core.submit({ id: 'a', promptTokens: 160, outputTokens: 1, prefixKeys });
    drain(core);
    expect(core.gauges()).toMatchObject({ usedBlocks: 0, cachedTokens: 0 });
    core.submit({ id: 'b', promptTokens: 160, outputTokens: 1, prefixKeys });
    const [first] = drain(core);
    expect(first?.event).toEqual({ kind: 'first', id: 'b', cachedTokens: 144 });
    expect(core.gauges()).toMatchObject({ prefixQueries: 320, prefixHits: 144, promptTokens: 320 });
  });

  it('gives up what is only kept for reuse when a request needs the room', () => {
    const core = new EngineCore(TINY);
    const keys = (text: string): string[] => prefixKeysOf(text.repeat(64), 1);
    core.submit({ id: 'a', promptTokens: 80, outputTokens: 1, prefixKeys: keys('a') });
    drain(core);
    core.submit({ id: 'b', promptTokens: 80, outputTokens: 1, prefixKeys: keys('b') });
    drain(core);
    core.submit({ id: 'a2', promptTokens: 80, outputTokens: 1, prefixKeys: keys('a') });
    const [first] = drain(core);
    expect(first?.event).toMatchObject({ kind: 'first', id: 'a2' });
    expect(core.gauges().prefixHits).toBeLessThan(76);
  });

  it('frees an aborted request at the next boundary, whether it runs or waits', () => {
    const core = new EngineCore(TINY);
    for (const id of ['a', 'b', 'c', 'd']) core.submit({ id, promptTokens: 8, outputTokens: 5 });
    core.beginStep();
    core.abort('a');
    core.abort('d');
    expect(core.gauges()).toMatchObject({ running: 3, waiting: 1 });
    core.endStep();
    core.beginStep();
    expect(ended(core.takeEvents())).toEqual(['aborted a', 'aborted d']);
    expect(core.gauges()).toMatchObject({ running: 2, waiting: 0, aborted: 2 });
  });

  it('ignores the end of a request that it does not have, or not yet', () => {
    const core = new EngineCore(TINY);
    core.abort('a');
    core.submit({ id: 'a', promptTokens: 8, outputTokens: 1 });
    expect(ended(drain(core).map(({ event }) => event))).toEqual(['finished a']);
  });

  it('loses everything in a crash and can be used again', () => {
    const core = new EngineCore(TINY);
    for (const id of ['a', 'b', 'c', 'd']) core.submit({ id, promptTokens: 8, outputTokens: 5 });
    core.beginStep();
    expect(ended(core.crash())).toEqual(['lost a', 'lost b', 'lost c', 'lost d']);
    expect(core.gauges()).toMatchObject({ running: 0, waiting: 0, usedBlocks: 0, submitted: 0 });
    core.submit({ id: 'e', promptTokens: 8, outputTokens: 1 });
    expect(ended(drain(core).map(({ event }) => event))).toEqual(['finished e']);
  });

  it('refuses at once what could never fit', () => {
    const core = new EngineCore(TINY);
    expect(() => core.submit({ id: 'a', promptTokens: 96, outputTokens: 1 })).toThrow(RangeError);
    expect(() => core.submit({ id: 'a', promptTokens: 0, outputTokens: 1 })).toThrow(RangeError);
    expect(core.beginStep()).toBeUndefined();
  });
});
