import fc from 'fast-check';
import { EngineCore } from './engine-core.js';
import type { EngineEvent } from './engine-gauges.js';
import { prefixKeysOf } from './kv-cache.js';
import { VOLTA, type EngineProfile } from './profiles.js';
import type { EngineRequest } from './sequence.js';

/** Small enough that slots, memory and budget all run out. */
const TINY: EngineProfile = { ...VOLTA, slots: 3, stepTokens: 64, blockTokens: 4, blocks: 24 };

const endedIds = (events: readonly EngineEvent[]): string[] =>
  events.filter(({ kind }) => kind !== 'first' && kind !== 'tokens').map(({ id }) => id);

describe('EngineCore: whatever comes', () => {
  type Act =
    { act: 'submit'; prompt: number; output: number; family: number } | { act: 'abort'; nth: number } | { act: 'step' };
  const act: fc.Arbitrary<Act> = fc.oneof(
    fc.record({
      act: fc.constant('submit' as const),
      prompt: fc.integer({ min: 1, max: 60 }),
      output: fc.integer({ min: 1, max: 30 }),
      family: fc.integer({ min: 0, max: 2 }),
    }),
    fc.record({ act: fc.constant('abort' as const), nth: fc.nat(40) }),
    fc.record({ act: fc.constant('step' as const) }),
  );
  const profile = fc.record({
    slots: fc.integer({ min: 1, max: 4 }),
    stepTokens: fc.integer({ min: 1, max: 50 }),
    blocks: fc.integer({ min: 23, max: 40 }),
    prefillChunkTokens: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
    serviceMs: fc.option(fc.integer({ min: 1, max: 500 }), { nil: undefined }),
  });

  function play(
    overrides: Partial<EngineProfile>,
    acts: readonly Act[],
  ): { events: EngineEvent[]; submitted: EngineRequest[] } {
    const used: EngineProfile = { ...TINY, ...overrides };
    const core = new EngineCore(used);
    const events: EngineEvent[] = [];
    const submitted: EngineRequest[] = [];
    const step = (): boolean => {
      const stepMs = core.beginStep();
      events.push(...core.takeEvents());
      const { running, waiting, usedBlocks, peakRunning } = core.gauges();
      expect(usedBlocks).toBeLessThanOrEqual(used.blocks);
      expect(running).toBeLessThanOrEqual(used.slots);
      expect(peakRunning).toBeLessThanOrEqual(used.slots);
      // Work conservation: no step is left out while somebody waits, and each has work in it.
      expect(stepMs === undefined).toBe(running + waiting === 0);
      events.push(...core.endStep());
      return stepMs !== undefined;
    };
    for (const next of acts) {
      if (next.act === 'step') step();
      else if (next.act === 'abort') core.abort(`r${next.nth}`);
      else {
        const prefixKeys = prefixKeysOf(String(next.family).repeat(next.prompt), used.blockTokens);
        const request = {
          id: `r${submitted.length}`,
          promptTokens: next.prompt,
          outputTokens: next.output,
          prefixKeys,
        };
        submitted.push(request);
        core.submit(request);
      }
    }
    for (let steps = 0; step(); steps += 1) expect(steps).toBeLessThan(20_000);
    expect(core.gauges().usedBlocks).toBe(0);
    return { events, submitted };
  }

  it('keeps within memory and slots, and ends every request once', () => {
    fc.assert(
      fc.property(profile, fc.array(act, { maxLength: 60 }), (overrides, acts) => {
        const { events, submitted } = play(overrides, acts);
        expect(endedIds(events).toSorted()).toEqual(submitted.map(({ id }) => id).toSorted());
        for (const { id, outputTokens } of submitted) {
          const tokens = events.reduce(
            (sum, event) => (event.kind === 'tokens' && event.id === id ? sum + event.count : sum),
            0,
          );
          const finished = events.some((event) => event.kind === 'finished' && event.id === id);
          if (finished) expect(tokens).toBe(outputTokens);
          else expect(tokens).toBeLessThan(outputTokens);
        }
      }),
      { seed: 7, numRuns: 300 },
    );
  });

  it('does the same again when the same is asked of it', () => {
    fc.assert(
      fc.property(profile, fc.array(act, { maxLength: 40 }), (overrides, acts) => {
        expect(play(overrides, acts).events).toEqual(play(overrides, acts).events);
      }),
      { seed: 11, numRuns: 60 },
    );
  });
});
