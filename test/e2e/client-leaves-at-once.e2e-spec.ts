import { setTimeout as delay } from 'node:timers/promises';
import { chatRequest, jsonAnswer, streamRequest } from '../support/chat-wire.js';
import { EngineWorld } from '../support/engine-world.js';
import { openFiles, probe, PROBED } from '../support/gateway-probe.js';
import { clientIn, LEAVING, PHASE_NAMES } from '../support/leaving.js';
import { bestOf, percentile, promptly } from '../support/measure.js';
import { RawConnection, requestBytes } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';

const SLOTS = 4;
const LEAVE_WITHIN_MS = 50;
const CLOSES = 100;

/** How soon a place is free whose client has left, and what a thousand of them leave behind. */
describe('clients that leave, many of them', () => {
  let world: EngineWorld;

  beforeAll(async () => {
    world = await EngineWorld.start(
      { upstream: { slots: { limit: SLOTS, perEndpoint: SLOTS } }, server: { bodyMemory: '2MiB' } },
      { env: PROBED },
    );
  }, 60_000);

  afterAll(() => world.stop());

  const leftIn = async (phase: string) => (await world.gateway.metric('client_disconnects_total', { phase })) ?? 0;

  /** From the client's close to the engine's seeing it, in milliseconds. */
  async function timeToEngine(phase: string): Promise<number> {
    const client = await clientIn(phase, world);
    const { left } = await world.engine.request(0);
    const closedAt = performance.now();
    client.destroy();
    return (await left) - closedAt;
  }

  async function p99(sample: () => Promise<number>): Promise<number> {
    return bestOf(2, LEAVE_WITHIN_MS, async () => {
      const samples: number[] = [];
      for (let i = 0; i < CLOSES; i++) samples.push(await sample());
      return percentile(samples, 0.99);
    });
  }

  it.each(PHASE_NAMES)(
    'C1 is seen by the engine within 50 ms (p99) in %s',
    async (phase) => {
      expect(await p99(() => timeToEngine(phase))).toBeLessThan(LEAVE_WITHIN_MS);
      await world.slotsFree();
    },
    30_000,
  );

  it('C1 C3 forgets an upload within 50 ms (p99), and the engine is never asked', async () => {
    world.engine.play(() => undefined);
    const bytes = requestBytes(chatRequest({ filler: 'x'.repeat(10_000) }));
    const sample = async (): Promise<number> => {
      const before = await leftIn('upload');
      const client = await RawConnection.open(world.gateway.port);
      client.send(bytes.subarray(0, 5000));
      await delay(1);
      const closedAt = performance.now();
      client.destroy();
      await promptly(async () => (await leftIn('upload')) > before);
      return performance.now() - closedAt;
    };
    expect(await p99(sample)).toBeLessThan(LEAVE_WITHIN_MS);
    expect(world.engine.requests).toHaveLength(0);
  }, 30_000);

  it('C2 leaves the queue within 50 ms (p99), and the engine is never asked', async () => {
    world.engine.play(() => undefined);
    const holders = await Promise.all(Array.from({ length: SLOTS }, () => world.ask(streamRequest())));
    await world.engine.request(SLOTS - 1);
    const sample = async (): Promise<number> => {
      const client = await world.ask(streamRequest());
      await promptly(async () => (await world.queued()) === 1);
      const closedAt = performance.now();
      client.destroy();
      await promptly(async () => (await world.queued()) === 0);
      return performance.now() - closedAt;
    };
    expect(await p99(sample)).toBeLessThan(LEAVE_WITHIN_MS);
    holders.forEach((holder) => holder.destroy());
    await world.slotsFree();
    expect(world.engine.requests).toHaveLength(SLOTS);
  }, 30_000);

  it('C1 C4 leaves no socket, slot, timer or listener behind after 1,000 departures', async () => {
    world.engine.play(() => undefined);
    await world.slotsFree();
    await eventually(() => world.engine.sockets.size === 0);
    const before = {
      files: await openFiles(world.gateway),
      reading: await probe(world.gateway),
      left: await leftTotal(),
    };
    for (let round = 0; round < 20; round++) await fiftyLeave(round);
    await world.slotsFree();
    await eventually(async () => (await leftTotal()) === before.left + 1000);
    await eventually(() => world.engine.sockets.size === 0);
    // The page of metrics itself is read over a connection or two.
    if (before.files !== undefined)
      await eventually(async () => ((await openFiles(world.gateway)) ?? 0) <= (before.files ?? 0) + 2);
    const after = await probe(world.gateway);
    expect(after.timers).toBeLessThanOrEqual(before.reading.timers + 2);
    expect(after.heldBytes - before.reading.heldBytes).toBeLessThan(10 * 1024 * 1024);
    expect(world.gateway.output()).not.toMatch(/MaxListenersExceeded|uncaught|unhandled/i);
    world.engine.play(({ socket }) => socket.write(jsonAnswer()));
    const client = await world.ask(chatRequest());
    expect((await client.response()).status).toBe(200);
    client.destroy();
  }, 30_000);

  const leftTotal = async () => (await world.gateway.metric('client_disconnects_total')) ?? 0;

  /** Some in the upload, some at the engine, the rest in the queue. */
  async function fiftyLeave(round: number): Promise<void> {
    const upload = requestBytes(chatRequest({ filler: 'x'.repeat(5000) })).subarray(0, 3000);
    const clients = await Promise.all(
      Array.from({ length: 50 }, async (_, at) => {
        const client = await RawConnection.open(world.gateway.port);
        client.send(at % 5 === 0 ? upload : requestBytes(at % 2 === 0 ? chatRequest() : streamRequest()));
        return client;
      }),
    );
    await eventually(async () => (await world.inUse()) === SLOTS && (await world.queued()) === 50 - 10 - SLOTS);
    clients.forEach((client, at) => LEAVING[(at + round) % 3 === 0 ? 'RST' : 'FIN'](client));
  }
});
