import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { jsonAnswer, STREAM_HEAD, chunk, deltaEvent, streamAnswer, chatRequest } from '../support/chat-wire.js';
import { EngineWorld } from '../support/engine-world.js';
import { openFiles, probe, PROBED } from '../support/gateway-probe.js';
import { RawConnection, requestBytes } from '../support/raw-client.js';
import type { TcpRequest } from '../support/tcp-engine.js';

const MIB = 1024 * 1024;
const REQUESTS = 100_000;
const WARM_UP = 20_000;
/** More at once than the engine has slots: some wait, and some of those in vain. */
const LANES = 48;
const SLOTS = 24;
/** More than any map may keep. */
const TENANTS = 40_000;

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

/** So many requests of every kind, and nothing is left of them. */
describe('a soak', () => {
  let world: EngineWorld;

  beforeAll(async () => {
    const timeouts = { connect: '1s', read: '300ms', write: '1s' };
    world = await EngineWorld.start(
      {
        upstream: { slots: { limit: SLOTS, perEndpoint: SLOTS } },
        operations: { chat: { timeouts } },
        admission: { bands: [{ name: 'gold', ceiling: 1, capacity: 16, ttl: '150ms' }], defaultBand: 'gold' },
      },
      { env: PROBED },
    );
    world.engine.play((request) => {
      world.engine.requests.length = 0;
      const fate = /fate-([a-z]+)/.exec(request.body.toString('latin1'))?.[1] ?? 'whole';
      ANSWERS[fate]?.(request);
    });
  }, 60_000);

  afterAll(() => world.stop());

  const bytesOf = (index: number, fate: Fate): Buffer =>
    requestBytes({
      ...chatRequest({
        model: fate === 'unknown' ? `no-${String(index)}` : 'demo-chat',
        stream: fate !== 'whole',
        messages: [{ role: 'user', content: `fate-${fate}` }],
      }),
      headers: { 'content-type': 'application/json', 'x-llmgw-session': `tenant-${String(index % TENANTS)}` },
    });

  /** A client that goes: before its body is whole, or in the middle of its answer. */
  async function leave(bytes: Buffer, fate: 'leave' | 'half'): Promise<void> {
    const socket = connect({ port: world.gateway.port, host: '127.0.0.1' });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(fate === 'half' ? bytes.subarray(0, -20) : bytes);
    if (fate === 'leave') await once(socket, 'data');
    socket.resetAndDestroy();
  }

  async function soak(count: number): Promise<Map<number, number>> {
    const statuses = new Map<number, number>();
    let next = 0;
    const lane = async (): Promise<void> => {
      let client = await RawConnection.open(world.gateway.port);
      for (let index = next++; index < count; index = next++) {
        const fate = fateOf(index);
        const bytes = bytesOf(index, fate);
        if (fate === 'leave' || fate === 'half') {
          await leave(bytes, fate);
          continue;
        }
        client.send(bytes);
        const { status, end, header } = await client.response({ method: 'POST' });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        // Behind a stream that failed the gateway closes.
        if (fate !== 'cut' && end === 'clean' && header('connection') !== 'close') continue;
        client.destroy();
        client = await RawConnection.open(world.gateway.port);
      }
      client.destroy();
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    await world.slotsFree();
    return statuses;
  }

  const inFlight = (): Promise<number | undefined> =>
    world.gateway.metric('upstream_in_flight', { upstream: 'engine' });

  it('of 100,000 requests, with clients and engines that fail, leaves no slot, socket, timer or memory taken', async () => {
    await soak(WARM_UP);
    const before = await probe(world.gateway);
    const filesBefore = (await openFiles(world.gateway)) ?? 0;
    const statuses = await soak(REQUESTS);
    await delay(1000);
    const after = await probe(world.gateway);
    expect([...statuses.keys()].sort()).toEqual(expect.arrayContaining([200, 400, 500, 502, 503, 504]));
    expect(await inFlight()).toBe(0);
    expect(after.timers).toBeLessThanOrEqual(before.timers + 2);
    expect(((await openFiles(world.gateway)) ?? 0) - filesBefore).toBeLessThanOrEqual(SLOTS);
    expect(after.heldBytes - before.heldBytes).toBeLessThan(10 * MIB);
    await world.expectNextServed();
  }, 240_000);
});
