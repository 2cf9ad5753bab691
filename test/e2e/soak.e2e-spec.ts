import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
  CHAT_ANSWER,
  jsonAnswer,
  STREAM_HEAD,
  chunk,
  deltaEvent,
  streamAnswer,
  chatRequest,
} from '../support/chat-wire.js';
import { EngineWorld } from '../support/engine-world.js';
import { largeMaps, openFiles, probe, PROBED } from '../support/gateway-probe.js';
import { parseSamples } from '../support/metric-samples.js';
import { RawConnection, requestBytes, type RequestParts } from '../support/raw-client.js';
import { POOR, SoakCallers, type Caller, type Standing } from '../support/soak-callers.js';
import type { TcpRequest } from '../support/tcp-engine.js';

const MIB = 1024 * 1024;
const REQUESTS = 100_000;
/** More at once than the engine has slots: some wait, and some of those in vain. */
const LANES = 48;
const SLOTS = 24;
/** The most that a map may keep. */
const KEPT = 10_000;
/** More than that, each with a token of its own; each comes once before anything is measured. */
const TENANTS = 12_000;
/** Tenants that metrics name; the rest are one more. */
const NAMED_TENANTS = 100;

/** What one request wants to happen; the engine reads it from the prompt. */
type Fate = 'whole' | 'stream' | 'leave' | 'half' | 'fail' | 'reset' | 'silent' | 'cut' | 'unknown';

/** By the number of the request. Most end well. */
const FATES: readonly Fate[] = [
  ...Array<Fate>(12).fill('whole'),
  ...Array<Fate>(2).fill('stream'),
  ...(['leave', 'half', 'fail', 'reset', 'cut', 'unknown'] as const),
];
const fateOf = (index: number): Fate => (index % 401 === 0 ? 'silent' : (FATES[index % FATES.length] ?? 'whole'));

const ANSWERS: Readonly<Record<string, (request: TcpRequest) => unknown>> = {
  whole: ({ socket }) => socket.write(jsonAnswer()),
  stream: ({ socket }) => socket.write(streamAnswer('one', 'two')),
  leave: ({ socket }) => socket.write(STREAM_HEAD + chunk(deltaEvent('and then'))),
  fail: ({ socket }) => socket.write(jsonAnswer('{"error":{"message":"no"}}', '500 Internal Server Error')),
  reset: ({ socket }) => socket.resetAndDestroy(),
  cut: ({ socket }) => socket.end(STREAM_HEAD + chunk(deltaEvent('and then'))),
  silent: () => undefined,
};

/** How many answers of each status callers of each standing have had. */
class Tally {
  readonly #counts = new Map<Standing, Map<number, number>>();

  count(standing: Standing, status: number): void {
    const counts = this.#counts.get(standing) ?? new Map<number, number>();
    this.#counts.set(standing, counts.set(status, (counts.get(status) ?? 0) + 1));
  }

  of(standing: Standing): number[] {
    return [...(this.#counts.get(standing)?.keys() ?? [])].sort();
  }
}

/** So many requests of every kind, and nothing is left of them. */
describe('a soak', () => {
  let callers: SoakCallers;
  let world: EngineWorld;

  beforeAll(async () => {
    callers = await SoakCallers.start(TENANTS);
    const timeouts = { connect: '1s', read: '300ms', write: '1s' };
    world = await EngineWorld.start(
      {
        upstream: { slots: { limit: SLOTS, perEndpoint: SLOTS } },
        operations: { chat: { timeouts } },
        admission: { bands: [{ name: 'gold', ceiling: 1, capacity: 16, ttl: '150ms' }], defaultBand: 'gold' },
        auth: callers.section,
        budgets: { window: '6s', tenants: [POOR] },
      },
      { env: PROBED },
    );
    world.engine.play((request) => {
      world.engine.requests.length = 0;
      const fate = /fate-([a-z]+)/.exec(request.body.toString('latin1'))?.[1] ?? 'whole';
      ANSWERS[fate]?.(request);
    });
  }, 60_000);

  afterAll(async () => {
    await world.stop();
    await callers.stop();
  });

  const from = ({ token }: Caller, request: RequestParts): RequestParts => ({
    ...request,
    headers: { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
  });

  const bytesOf = (index: number, fate: Fate, caller: Caller): Buffer =>
    requestBytes(
      from(
        caller,
        chatRequest({
          model: fate === 'unknown' ? `no-${String(index)}` : 'demo-chat',
          stream: fate !== 'whole',
          messages: [{ role: 'user', content: `fate-${fate}` }],
        }),
      ),
    );

  /** A client that goes: before its body is whole, or in the middle of its answer. */
  async function leave(bytes: Buffer, fate: 'leave' | 'half'): Promise<void> {
    const socket = connect({ port: world.gateway.port, host: '127.0.0.1' });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(fate === 'half' ? bytes.subarray(0, -20) : bytes);
    if (fate === 'leave') await once(socket, 'data');
    socket.resetAndDestroy();
  }

  async function soak(count: number, lanes: number, callerOf: (index: number) => Caller): Promise<Tally> {
    const tally = new Tally();
    let next = 0;
    const lane = async (): Promise<void> => {
      let client = await RawConnection.open(world.gateway.port);
      for (let index = next++; index < count; index = next++) {
        const fate = fateOf(index);
        const caller = callerOf(index);
        const bytes = bytesOf(index, fate, caller);
        if (fate === 'leave' || fate === 'half') {
          await leave(bytes, fate);
          continue;
        }
        client.send(bytes);
        const { status, end, header } = await client.response({ method: 'POST' });
        tally.count(caller.standing, status);
        // Behind a stream that failed the gateway closes.
        if (fate !== 'cut' && end === 'clean' && header('connection') !== 'close') continue;
        client.destroy();
        client = await RawConnection.open(world.gateway.port);
      }
      client.destroy();
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    await restOfIt();
    return tally;
  }

  /** Nothing is under way any more, and no connection kept for the next request. */
  async function restOfIt(): Promise<void> {
    await world.slotsFree();
    for (const socket of world.engine.sockets) socket.destroy();
    await delay(500);
  }

  const inFlight = (): Promise<number | undefined> =>
    world.gateway.metric('upstream_in_flight', { upstream: 'engine' });

  it('of 100,000 requests, with callers, clients and engines that fail, leaves nothing taken', async () => {
    await soak(TENANTS, SLOTS, (index) => callers.inTurn(index));
    const before = await probe(world.gateway);
    const filesBefore = (await openFiles(world.gateway)) ?? 0;
    await callers.signBrief();
    const tally = await soak(REQUESTS - TENANTS, LANES, (index) => callers.mixed(index));
    const after = await probe(world.gateway);
    expectStatuses(tally);
    expect(await inFlight()).toBe(0);
    expect(after.timers).toBeLessThanOrEqual(before.timers + 2);
    expect(((await openFiles(world.gateway)) ?? 0) - filesBefore).toBeLessThanOrEqual(2);
    expect(after.heldBytes - before.heldBytes).toBeLessThan(10 * MIB);
    await expectBounded();
    const next = await world.send(from(callers.inTurn(0), chatRequest()));
    expect([next.status, next.text()]).toEqual([200, CHAT_ANSWER]);
  }, 240_000);

  function expectStatuses(tally: Tally): void {
    const known = tally.of('known');
    expect(known).toEqual(expect.arrayContaining([200, 400, 500, 502, 503, 504]));
    for (const refused of [401, 403, 429]) expect(known).not.toContain(refused);
    expect(tally.of('poor')).toEqual(expect.arrayContaining([200, 429]));
    expect(tally.of('brief')).toEqual(expect.arrayContaining([200, 401]));
    for (const standing of ['expired', 'forged', 'stranger', 'nobody'] as const)
      expect([standing, tally.of(standing)]).toEqual([standing, [401]]);
  }

  /**
   * Whatever is kept by caller is in one of these: the spending of tenants, their turns, what their answers came to, and
   * two generations of tokens.
   */
  async function expectBounded(): Promise<void> {
    const large = await largeMaps(world.gateway);
    expect(large.length).toBeLessThanOrEqual(5);
    expect(large[0]).toBe(KEPT);
    const samples = parseSamples(await world.gateway.metrics());
    expect(new Set(samples.flatMap(({ labels }) => labels['tenant'] ?? [])).size).toBe(NAMED_TENANTS + 1);
  }
});
