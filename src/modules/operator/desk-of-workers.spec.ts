import { FakeClock } from '../../../test/support/fake-clock.js';
import { Line } from '../workers/line.js';
import type { WorkerProcess } from '../workers/supervisor.js';
import type { RequestStory } from './core/request-story.js';
import type { HousePart } from './desk.js';
import { DeskOfWorkers } from './desk-of-workers.js';
import { PARTS, SAMPLED, STORIES } from './desk-topics.js';
import type { HouseAbout } from './house-about.js';
import type { EndpointView } from './upstream-view.js';

const ABOUT = { gateway: { host: 'here', pid: 1, startedAtMs: 0 }, upstreams: [{ upstream: 'up' }] };
const ALONE = { replicas: 1, admission: 'none', budgets: 'memory' } as const;
const story = (requestId: string, arrivedAtMs: number) => ({ requestId, arrivedAtMs, live: false }) as RequestStory;

/** A worker that answers as long as it is not mute, at the other end of a line. */
function workerAt(index: number, clock: FakeClock) {
  const its: Line = new Line((message) => worker.line.take(structuredClone(message)));
  const worker: WorkerProcess = { index, pid: 100 + index, line: new Line(say), kill: () => undefined };
  const state = { worker, its, mute: false, asked: 0, said: {} as Partial<HousePart>, known: [] as RequestStory[] };
  function say(message: object): void {
    state.asked += 1;
    if (!state.mute) its.take(structuredClone(message));
  }
  const upstream = { upstream: 'up', inUse: index, requests: index, limit: 9, waiting: 0, saturation: 0 };
  const part = (): HousePart => ({
    gateway: { host: 'here', pid: worker.pid, startedAtMs: 5 },
    ...{ atMs: clock.now(), state: 'serving', out: { admission: false, budgets: false } },
    upstreams: [{ ...upstream, endpoints: [], bands: [] }],
    ...{ running: { count: index, longest: [] }, recent: [], rejections: [] },
    ...state.said,
  });
  const open = (): void => {
    PARTS.serve(its, part);
    STORIES.serve(its, () => state.known);
  };
  return Object.assign(state, { open });
}

function world(indexes: readonly number[] = [1, 2], sharing: HouseAbout['sharing'] = ALONE) {
  const clock = new FakeClock();
  const desk = new DeskOfWorkers(
    { about: { ...ABOUT, sharing } as unknown as HouseAbout, engines: { endpoints: () => [] } },
    clock,
    () => clock.now(),
  );
  const workers = indexes.map((index) => workerAt(index, clock));
  for (const { worker, open } of workers) {
    desk.join(worker);
    open();
  }
  const [one, two] = workers;
  if (one === undefined || two === undefined) throw new Error('two workers at least');
  return { clock, desk, one, two };
}

it('puts together what all of them say, and says who they are', async () => {
  const { desk, two: one } = world([2, 1]);
  one.said = { out: { admission: true, budgets: false }, state: 'draining' };
  expect(await desk.snapshot()).toMatchObject({
    gateway: ABOUT.gateway,
    state: 'serving',
    out: { admission: true, budgets: false },
    upstreams: [{ upstream: 'up', inUse: 3, limit: 9 }],
    running: { count: 3 },
    workers: [
      { worker: 1, pid: 101, state: 'draining', ageMs: 0 },
      { worker: 2, pid: 102, state: 'serving', ageMs: 0 },
    ],
  });
});

it('shows one that does not answer as it was, and since when', async () => {
  const { clock, desk, two } = world();
  await desk.snapshot();
  two.mute = true;
  clock.advance(3000);
  const pending = desk.snapshot();
  clock.advance(500);
  expect(await pending).toMatchObject({
    upstreams: [{ inUse: 3 }],
    workers: [
      { worker: 1, ageMs: 500 },
      { worker: 2, ageMs: 3500 },
    ],
  });
});

it('waits for nobody who has gone, and shows nothing of it any more', async () => {
  const { desk, two } = world();
  await desk.snapshot();
  two.mute = true;
  const pending = desk.snapshot();
  desk.leave(two.worker);
  expect(await pending).toMatchObject({ upstreams: [{ inUse: 1 }], workers: [{ worker: 1 }] });
});

it('asks nobody who has not said that it may be asked, and has an empty page without anybody', async () => {
  const { clock, desk, one, two } = world();
  const starting = workerAt(3, clock);
  desk.join(starting.worker);
  await desk.snapshot();
  expect(starting.asked).toBe(0);
  desk.leave(one.worker);
  desk.leave(two.worker);
  expect(await desk.snapshot()).toMatchObject({ state: 'serving', upstreams: [], workers: [], running: { count: 0 } });
});

it('drains when all of them do', async () => {
  const { desk, one, two } = world();
  for (const worker of [one, two]) worker.said = { state: 'draining' };
  expect((await desk.snapshot()).state).toBe('draining');
});

it('finds a story wherever it is known, and says how many did not answer', async () => {
  const { clock, desk, one, two } = world();
  one.known = [story('a', 10)];
  two.known = [story('a', 30)];
  expect(await desk.stories('a')).toMatchObject({
    silent: 0,
    stories: [
      { arrivedAtMs: 30, worker: 2 },
      { arrivedAtMs: 10, worker: 1 },
    ],
  });
  two.mute = true;
  const pending = desk.stories('a');
  clock.advance(500);
  expect(await pending).toMatchObject({ silent: 1, stories: [{ worker: 1 }] });
});

it('samples between the samples of the workers', () => {
  const { clock, desk, one, two } = world();
  desk.start();
  clock.advance(2000);
  for (const { its } of [one, two]) its.post(SAMPLED, { index: 1, upstreams: { up: [1, 0, 0, null, 4, 0, null] } });
  clock.advance(999);
  expect(desk.history().newest).toBe(0);
  clock.advance(1);
  desk.stop();
  clock.advance(60_000);
  expect(desk.history()).toMatchObject({ newest: 1 });
  expect(desk.history().upstreams['up']?.at(-1)).toEqual([2, 0, 0, null, 8, 0, null]);
});

it('tells of places elsewhere only where there are other gateways that tell of theirs', async () => {
  const endpoint = { endpoint: 'a:80', places: 1, placesOfAll: 5, slots: 9, saturation: 0, down: false };
  const upstream = { upstream: 'up', inUse: 1, requests: 1, limit: 9, waiting: 0, saturation: 0, bands: [] };
  const elsewhere = async (sharing?: HouseAbout['sharing']): Promise<number | undefined> => {
    const { desk, one, two } = world([1, 2], sharing);
    const endpoints = [endpoint as EndpointView];
    for (const worker of [one, two]) worker.said = { upstreams: [{ ...upstream, endpoints }] };
    return (await desk.snapshot()).upstreams[0]?.elsewhere;
  };
  expect(await elsewhere()).toBe(0);
  expect(await elsewhere({ replicas: 3, admission: 'none', budgets: 'memory' })).toBe(0);
  expect(await elsewhere({ replicas: 3, admission: 'redis', budgets: 'memory' })).toBe(3);
});
