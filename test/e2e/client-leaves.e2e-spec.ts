import { setTimeout as delay } from 'node:timers/promises';
import {
  CHAT_ANSWER,
  chatRequest,
  chunk,
  deltaEvent,
  jsonAnswer,
  STREAM_HEAD,
  streamRequest,
} from '../support/chat-wire.js';
import { EngineWorld } from '../support/engine-world.js';
import { probe, PROBED } from '../support/gateway-probe.js';
import { clientIn, LEAVING, PHASE_NAMES } from '../support/leaving.js';
import { RawConnection, requestBytes } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';

const SLOTS = 4;
/** By then the gateway reads on behind a body that lies in its way. */
const BURIED_MS = 600;

/** Whoever leaves frees its place at once, whatever phase it is in. */
describe('clients that leave', () => {
  let world: EngineWorld;

  beforeAll(async () => {
    world = await EngineWorld.start(
      { upstream: { slots: { limit: SLOTS, perEndpoint: SLOTS } }, server: { bodyMemory: '2MiB' } },
      { env: PROBED },
    );
  }, 60_000);

  afterAll(() => world.stop());

  const leftIn = async (phase: string) => (await world.gateway.metric('client_disconnects_total', { phase })) ?? 0;
  const bigRequest = () => chatRequest({ filler: 'x'.repeat(900_000) });

  describe.each(['FIN', 'RST'] as const)('C1 by %s', (how) => {
    it.each(PHASE_NAMES)('is gone within a second in %s', async (phase) => {
      const client = await clientIn(phase, world);
      const { left } = await world.engine.request(0);
      const closedAt = performance.now();
      LEAVING[how](client);
      expect((await left) - closedAt).toBeLessThan(1000);
      await world.slotsFree();
      expect(performance.now() - closedAt).toBeLessThan(1000);
      expect(world.engine.requests).toHaveLength(1);
    });
  });

  it('C2 keeps the order of those who stay', async () => {
    world.engine.play(() => undefined);
    const holders = await Promise.all(Array.from({ length: SLOTS }, () => world.ask(streamRequest())));
    await world.engine.request(SLOTS - 1);
    const waiters: RawConnection[] = [];
    for (const user of ['a', 'b', 'c', 'd', 'e']) {
      waiters.push(await world.ask(chatRequest({ user })));
      await eventually(async () => (await world.queued()) === waiters.length);
    }
    waiters[0]?.destroy();
    waiters[2]?.socket.resetAndDestroy();
    await eventually(async () => (await world.queued()) === 3);
    world.engine.answer = ({ socket }) => socket.write(jsonAnswer());
    holders[0]?.destroy();
    const answers = await Promise.all(waiters.filter((_, at) => at !== 0 && at !== 2).map((each) => each.response()));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const users = world.engine.requests.slice(SLOTS).map(({ body }) => /"user":"(\w)"/.exec(body.toString())?.[1]);
    expect(users).toEqual(['b', 'd', 'e']);
    [...holders, ...waiters].forEach((client) => client.destroy());
    await world.slotsFree();
  });

  it.each(['FIN', 'RST'] as const)(
    'C3 makes no request of half a head or half an upload (%s), and keeps no memory',
    async (how) => {
      world.engine.play(({ socket }) => socket.write(jsonAnswer()));
      const bytes = requestBytes(chatRequest({ filler: 'x'.repeat(900_000) }));
      const headLength = bytes.indexOf('\r\n\r\n') + 4;
      const before = await leftIn('upload');
      for (let i = 0; i < 12; i++) {
        const client = await RawConnection.open(world.gateway.port);
        // Half a head; the head alone; half the body; all of the body but its last byte.
        const sent = [headLength / 2, headLength, 450_000, bytes.length - 1][i % 4] ?? 0;
        await new Promise<void>((resolve) => client.socket.write(bytes.subarray(0, sent), () => resolve()));
        await delay(5);
        LEAVING[how](client);
      }
      await eventually(async () => (await leftIn('upload')) === before + 9);
      expect(world.engine.requests).toHaveLength(0);
      // Two such bodies fit into the memory for bodies, and only if nothing of the twelve is left in it.
      const both = await Promise.all([world.ask(bigRequest()), world.ask(bigRequest())]);
      expect(await Promise.all(both.map(async (client) => (await client.response()).status))).toEqual([200, 200]);
      both.forEach((client) => client.destroy());
    },
  );

  it('C4 has every slot for use after three times as many departures', async () => {
    world.engine.play(() => undefined);
    for (let round = 0; round < 3; round++) {
      const clients = await Promise.all(Array.from({ length: SLOTS }, () => world.ask(streamRequest())));
      await world.engine.request((round + 1) * SLOTS - 1);
      clients.forEach((client, at) => LEAVING[at % 2 === 0 ? 'FIN' : 'RST'](client));
      await world.slotsFree();
    }
    world.engine.play(() => undefined);
    const clients = await Promise.all(Array.from({ length: SLOTS }, () => world.ask(chatRequest())));
    await world.engine.request(SLOTS - 1);
    expect(await world.inUse()).toBe(SLOTS);
    world.engine.requests.forEach(({ socket }) => socket.write(jsonAnswer()));
    const answers = await Promise.all(clients.map((client) => client.response()));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: SLOTS }, () => 200));
    clients.forEach((client) => client.destroy());
    await world.slotsFree();
  });

  it.each([
    ['a call', chatRequest],
    ['a stream', streamRequest],
  ])('C5 never gives a broken answer to %s whose client has half closed', async (_, request) => {
    world.engine.play(async ({ socket }) => {
      await delay(100);
      if (socket.writable) socket.write(jsonAnswer());
    });
    const client = await RawConnection.open(world.gateway.port);
    const heard: Buffer[] = [];
    client.socket.on('data', (bytes) => heard.push(bytes));
    client.send(requestBytes(request()));
    client.finishSending();
    await client.closed;
    const text = Buffer.concat(heard).toString();
    expect(text === '' || text.endsWith(CHAT_ANSWER)).toBe(true);
    await world.slotsFree();
  });

  it.each(['FIN', 'RST'] as const)('C1 C12 by %s, behind an upload that was sent ahead', async (how) => {
    world.engine.play(() => undefined);
    const ahead = requestBytes({ ...bigRequest(), headers: { 'content-type': 'application/json' } }).subarray(
      0,
      200_000,
    );
    const clients: RawConnection[] = [];
    for (let at = 0; at < 2 * SLOTS; at++) {
      clients.push(await world.ask(chatRequest({ user: String(at) })));
      clients[at]?.send(ahead);
    }
    await eventually(async () => (await world.queued()) === SLOTS);
    await world.engine.request(SLOTS - 1);
    await delay(BURIED_MS);
    for (const client of clients) LEAVING[how](client);
    await world.slotsFree();
    await eventually(async () => (await world.queued()) === 0);
    await eventually(() => world.engine.sockets.size === 0);
  });

  it('C12 answers the first request although an upload was sent ahead, and closes behind it', async () => {
    const client = await RawConnection.open(world.gateway.port);
    world.engine.play(({ socket }) => setTimeout(() => socket.write(jsonAnswer()), 2 * BURIED_MS));
    client.send(Buffer.concat([requestBytes(chatRequest()), requestBytes(bigRequest())]));
    const answer = await client.response({ method: 'POST' });
    expect([answer.status, answer.header('connection'), answer.text()]).toEqual([200, 'close', CHAT_ANSWER]);
    await client.closed;
    expect(world.engine.requests).toHaveLength(1);
  });

  it('C12 C4 forgets requests that were pipelined behind the one whose client has left', async () => {
    world.engine.play(({ socket }) => socket.write(STREAM_HEAD + chunk(deltaEvent('one'))));
    const before = await probe(world.gateway);
    for (let i = 0; i < 10; i++) {
      const client = await RawConnection.open(world.gateway.port);
      client.send(Buffer.concat([1, 2, 3].map(() => requestBytes(streamRequest()))));
      await eventually(() => client.socket.bytesRead > 0);
      client.destroy();
      await world.slotsFree();
    }
    await eventually(() => world.engine.sockets.size === 0);
    const after = await probe(world.gateway);
    expect(after.timers).toBeLessThanOrEqual(before.timers + 1);
  });

  it('C13 is logged as a client that left, and held against no upstream', async () => {
    world.engine.play(() => undefined);
    const client = await world.ask({
      ...chatRequest(),
      headers: { 'content-type': 'application/json', 'x-request-id': 'left-1' },
    });
    await world.engine.request(0);
    const failures = async (): Promise<number> => {
      const outcomes = ['refused', 'reset', 'timeout', 'server_error'];
      const counts = outcomes.map((outcome) =>
        world.gateway.metric('upstream_requests_total', { upstream: 'engine', outcome }),
      );
      return (await Promise.all(counts)).reduce<number>((sum, count) => sum + (count ?? 0), 0);
    };
    const before = await failures();
    client.destroy();
    const line = () => world.gateway.logs().find(({ request_id }) => request_id === 'left-1');
    await eventually(() => line() !== undefined);
    expect(line()).toMatchObject({ level: 30, status: 499, client_gone: true, phase: 'waiting', outcome: 'cancelled' });
    expect(line()).not.toHaveProperty('reason');
    expect(await failures()).toBe(before);
    expect(await world.gateway.metric('upstream_up', { upstream: 'engine' })).not.toBe(0);
  });

  it('C14 is counted as 499 in the middle of its answer, too, and logged with the status that it was sent', async () => {
    world.engine.play(({ socket }) => socket.write(STREAM_HEAD + chunk(deltaEvent('one'))));
    const counted = async (status: string) => (await world.gateway.metric('http_requests_total', { status })) ?? 0;
    const before = [await counted('200'), await counted('499')];
    const headers = { 'content-type': 'application/json', 'x-request-id': 'left-2' };
    const client = await world.ask({ ...streamRequest(), headers });
    await eventually(() => client.socket.bytesRead > 0);
    client.destroy();
    const line = () => world.gateway.logs().find(({ request_id }) => request_id === 'left-2');
    await eventually(() => line() !== undefined);
    expect(line()).toMatchObject({ status: 200, client_gone: true, phase: 'streaming', outcome: 'cancelled' });
    const [answered = NaN, left = NaN] = before;
    expect([await counted('200'), await counted('499')]).toEqual([answered, left + 1]);
  });
});
