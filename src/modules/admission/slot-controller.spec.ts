import fc from 'fast-check';
import { FakeClock } from '../../../test/support/fake-clock.js';
import { GatewayProblem } from '../../common/problem/gateway-problem.js';
import { UNLIMITED } from '../budgets/reservation.js';
import type { Endpoint } from '../engine-observer/endpoint.js';
import type { AdmissionPolicy } from './pool-policy.js';
import { SlotController, type EngineView, type SlotRequest } from './slot-controller.js';
import type { Slot } from './slot.js';

const policy: AdmissionPolicy = {
  retryAfterMs: 5000,
  strictReserve: false,
  defaultBand: 'gold',
  bands: [
    { name: 'gold', ceiling: 1, capacity: 2, ttlMs: 1000 },
    { name: 'bronze', ceiling: 1, capacity: 2, ttlMs: 3000 },
  ],
};

const endpoint: Endpoint = {
  id: '127.0.0.1:80',
  upstream: 'up',
  origin: 'http://127.0.0.1:80',
  authority: 'up:80',
  state: 'unobserved',
  snapshot: undefined,
  degraded: false,
  faults: {} as Endpoint['faults'],
  staleCount: 0,
};
const engines: EngineView = {
  endpoints: () => [endpoint],
  onEndpoints: () => undefined,
  onSnapshot: () => undefined,
};

class Client {
  readonly #abort = new AbortController();
  readonly signal = this.#abort.signal;
  gone = false;
  committed = false;

  leave(): void {
    this.gone = true;
    this.#abort.abort(new Error('left'));
  }
}

const asked = (band: string): SlotRequest => ({
  upstream: 'up',
  caller: { tenant: 'acme', band, scopes: undefined },
  reservation: UNLIMITED,
  request: undefined,
  contextLength: 0,
});

/** However it comes, as a promise. */
const acquired = async (slots: SlotController, what: SlotRequest, client: Client): Promise<Slot> =>
  slots.acquire(what, client);

function world(limit: number, of: AdmissionPolicy = policy) {
  const clock = new FakeClock();
  const slots = new SlotController(
    of,
    [{ name: 'up', engine: 'http', slots: { limit, perEndpoint: limit } }],
    engines,
    clock,
    { random: () => 0 },
  );
  const served: string[] = [];
  const ask = (name: string, band = 'gold', client = new Client()): Promise<Slot | Error> =>
    acquired(slots, asked(band), client).then(
      (slot) => {
        served.push(name);
        return slot;
      },
      (error: unknown) => error as Error,
    );
  const take = async (name: string, band = 'gold'): Promise<Slot> => {
    const slot = await ask(name, band);
    if (slot instanceof Error) throw slot;
    return slot;
  };
  return { clock, slots, served, ask, take };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const free = (slot: Slot): void => slot[Symbol.dispose]();

describe('SlotController', () => {
  it('grants at once while there is room, and never more than the limit', async () => {
    const { take, ask, slots, served } = world(2);
    const first = await take('a');
    await take('b');
    void ask('c');
    await settled();
    expect(served).toEqual(['a', 'b']);
    free(first);
    await settled();
    expect(served).toEqual(['a', 'b', 'c']);
    expect(slots.snapshot()[0]?.inUse).toBe(2);
  });

  it('serves high bands first, and each in order of arrival', async () => {
    const { take, ask, served } = world(1);
    const first = await take('first');
    const waiting = [ask('b1', 'bronze'), ask('g1'), ask('b2', 'bronze'), ask('g2')];
    free(first);
    for (const one of [waiting[1], waiting[3], waiting[0], waiting[2]]) free((await one) as Slot);
    expect(served).toEqual(['first', 'g1', 'g2', 'b1', 'b2']);
  });

  it('lets no newcomer pass those that wait', async () => {
    const { take, ask, served } = world(1);
    const first = await take('first');
    void ask('waits');
    free(first);
    void ask('late');
    await settled();
    expect(served).toEqual(['first', 'waits']);
  });

  it('turns away at once when the queue of the band is full', async () => {
    const { take, ask } = world(1);
    await take('a');
    void ask('b');
    void ask('c');
    const refused = await ask('d');
    expect(refused).toBeInstanceOf(GatewayProblem);
    expect(refused).toMatchObject({ code: 'queue-full', options: { retryAfterSeconds: 5 } });
  });

  it('gives up after the ttl of the band, and tells how long the others waited', async () => {
    const { take, ask, clock } = world(1);
    const first = await take('a');
    const late = ask('late');
    const patient = ask('patient', 'bronze');
    clock.advance(1000);
    expect(await late).toMatchObject({ code: 'queue-timeout' });
    free(first);
    expect(((await patient) as Slot).waitedMs).toBe(1000);
  });

  it('forgets a client that leaves while it waits', async () => {
    const { take, ask, slots, clock, served } = world(1);
    const first = await take('a');
    const client = new Client();
    const leaving = ask('leaves', 'gold', client);
    client.leave();
    expect(await leaving).toMatchObject({ message: 'left' });
    free(first);
    await settled();
    expect(served).toEqual(['a']);
    expect(slots.snapshot()[0]).toMatchObject({ inUse: 0, waiting: [{ depth: 0 }, { depth: 0 }] });
    expect(clock.timers).toBe(0);
  });

  it('frees a slot once, however often it is disposed', async () => {
    const { take, slots } = world(2);
    const first = await take('a');
    await take('b');
    free(first);
    free(first);
    expect(slots.snapshot()[0]?.inUse).toBe(1);
  });

  it('treats a band that is not configured as the lowest', async () => {
    const { take, ask, served } = world(1);
    const first = await take('a');
    void ask('stranger', 'diamond');
    void ask('gold');
    free(first);
    await settled();
    expect(served).toEqual(['a', 'gold']);
  });

  it('while draining refuses those that would have to wait, and serves who finds a free slot', async () => {
    const { take, ask, slots } = world(1);
    const first = await take('a');
    const waiting = ask('waits');
    slots.drain();
    expect(await waiting).toMatchObject({ code: 'draining', options: { retryAfterSeconds: 5 } });
    expect(await ask('late')).toMatchObject({ code: 'draining' });
    await settled();
    free(first);
    expect(((await ask('lucky')) as Slot).waitedMs).toBe(0);
  });

  it('lets who has been sent a heartbeat keep its place in a drain', async () => {
    const { take, ask, slots } = world(1);
    const first = await take('a');
    const client = new Client();
    client.committed = true;
    const parked = ask('parked', 'gold', client);
    slots.drain();
    free(first);
    expect(await parked).not.toBeInstanceOf(Error);
  });

  it('keeps its counts under any schedule of arrivals, ends, departures and time', async () => {
    const act = fc.oneof(
      fc.record({ do: fc.constant('ask' as const), band: fc.constantFrom('gold', 'bronze') }),
      fc.record({ do: fc.constantFrom('free' as const, 'leave' as const), at: fc.nat(20) }),
      fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 4000 }) }),
    );
    await fc.assert(fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.array(act, { maxLength: 60 }), runSchedule), {
      numRuns: 200,
      endOnFailure: true,
    });
  });
});

type Act = { do: 'ask'; band: string } | { do: 'free' | 'leave'; at: number } | { do: 'wait'; ms: number };

async function runSchedule(limit: number, acts: readonly Act[]): Promise<void> {
  const { slots, clock } = world(limit);
  const held: Slot[] = [];
  const clients: Client[] = [];
  let ended = 0;
  for (const act of acts) {
    if (act.do === 'ask') {
      const client = new Client();
      clients.push(client);
      acquired(slots, asked(act.band), client).then(
        (slot) => held.push(slot),
        () => (ended += 1),
      );
    } else if (act.do === 'wait') clock.advance(act.ms);
    else if (act.do === 'leave') clients[act.at]?.leave();
    else for (const slot of held.splice(act.at % Math.max(1, held.length), 1)) free(slot);
    await settled();
    const { inUse, waiting } = slots.snapshot()[0] ?? { inUse: -1, waiting: [] };
    expect(inUse).toBe(held.length);
    expect(inUse).toBeLessThanOrEqual(limit);
    const depth = waiting.reduce((sum, one) => sum + one.depth, 0);
    if (depth > 0) expect(inUse).toBe(limit);
  }
  for (let i = 0; i < clients.length; i += 1) {
    for (const slot of held.splice(0)) free(slot);
    await settled();
  }
  expect(slots.snapshot()[0]).toMatchObject({ inUse: 0, waiting: [{ depth: 0 }, { depth: 0 }] });
  expect(clock.timers).toBe(0);
  expect(ended).toBeLessThanOrEqual(clients.length);
}
