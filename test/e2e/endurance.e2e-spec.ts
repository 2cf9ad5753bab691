import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
  chunk,
  deltaEvent,
  DONE_EVENT,
  FINISH_EVENT,
  LAST_CHUNK,
  STREAM_HEAD,
  streamAnswer,
  streamRequest,
} from '../support/chat-wire.js';
import { EngineWorld } from '../support/engine-world.js';
import { openFiles, probe, PROBED } from '../support/gateway-probe.js';
import { bestOf } from '../support/measure.js';
import { RawConnection, requestBytes, type RequestParts } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';
import { pour } from '../support/tcp-engine.js';

const MIB = 1024 * 1024;
const LANES = 8;
/** Within this others notice nothing. */
const BLOCKED_MS = 250;

/** What lasts, or comes again and again, leaves the process as it was. */
describe('endurance', () => {
  let world: EngineWorld;

  beforeAll(async () => {
    world = await EngineWorld.start({ proxies: [{ prefix: '/files', upstream: 'engine' }] }, { env: PROBED });
  }, 60_000);

  afterAll(() => world.stop());

  /** A client that only counts what it reads. */
  async function reader(request: RequestParts): Promise<{ socket: Socket; bytes: () => number }> {
    const socket = connect({ port: world.gateway.port, host: '127.0.0.1' });
    await once(socket, 'connect');
    let bytes = 0;
    socket.on('data', (piece: Buffer) => (bytes += piece.length));
    socket.write(requestBytes(request));
    return { socket, bytes: () => bytes };
  }

  /** So many streams, one after the other on each of a few connections. */
  async function stream(count: number): Promise<void> {
    const bytes = requestBytes(streamRequest());
    const lane = async (): Promise<void> => {
      const client = await RawConnection.open(world.gateway.port);
      for (let i = 0; i < count / LANES; i++) {
        client.send(bytes);
        if ((await client.response()).end !== 'clean') throw new Error('a stream was cut');
      }
      client.destroy();
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  }

  it('S8 has the memory of before after 10,000 short streams, and no more timers, sockets or listeners', async () => {
    const answer = streamAnswer('one', 'two');
    world.engine.play(({ socket }) => {
      world.engine.requests.length = 0;
      socket.write(answer);
    });
    await stream(2000);
    const before = { reading: await probe(world.gateway), files: await openFiles(world.gateway) };
    await stream(10_000);
    await world.slotsFree();
    const after = await probe(world.gateway);
    expect(Math.abs(after.heldBytes - before.reading.heldBytes)).toBeLessThan(20 * MIB);
    expect(after.timers).toBeLessThanOrEqual(before.reading.timers + 2);
    expect(((await openFiles(world.gateway)) ?? 0) - (before.files ?? 0)).toBeLessThanOrEqual(2);
    expect(world.gateway.output()).not.toMatch(/MaxListenersExceeded/);
  }, 60_000);

  it('S7 keeps nothing of a long stream that passes', async () => {
    const event = chunk(deltaEvent('x'.repeat(8000)));
    const count = 15_000;
    world.engine.play(async ({ socket }) => {
      socket.write(STREAM_HEAD);
      for (let i = 0; i < count; i++)
        if (!socket.write(event)) await new Promise((resolve) => socket.once('drain', resolve));
      socket.write([FINISH_EVENT, DONE_EVENT].map(chunk).join('') + LAST_CHUNK);
    });
    const before = await probe(world.gateway);
    const client = await reader(streamRequest());
    await eventually(() => client.bytes() > count * 8000 * 0.5);
    const during = await probe(world.gateway);
    await eventually(() => client.bytes() > count * 8000);
    await world.slotsFree();
    // What has been passed on waits for its collection for a while.
    expect(during.heldBytes - before.heldBytes).toBeLessThan(50 * MIB);
    await eventually(async () => (await probe(world.gateway)).heldBytes - before.heldBytes < 5 * MIB);
    client.socket.destroy();
  }, 15_000);

  it('U14 holds little and stands still for little while an engine pours as fast as it can', async () => {
    const size = 300 * MIB;
    const request: RequestParts = { method: 'GET', path: '/files/x' };
    world.engine.play(({ socket }) => {
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\ncontent-length: ${String(size)}\r\n\r\n`,
      );
      pour(socket, size);
    });
    const blocked = async (): Promise<number> => {
      const before = await probe(world.gateway);
      // One reads as fast as it can, one now and then, one not at all.
      const [fast, slow, deaf] = await Promise.all([reader(request), reader(request), reader(request)]);
      deaf.socket.pause();
      for (let i = 0; i < 20; i++) {
        if (i % 2 === 0) slow.socket.pause();
        else slow.socket.resume();
        await delay(25);
      }
      expect(fast.bytes()).toBeGreaterThan(slow.bytes());
      const during = await probe(world.gateway);
      [fast, slow, deaf].forEach(({ socket }) => socket.destroy());
      await world.slotsFree();
      expect(during.rssBytes - before.rssBytes).toBeLessThan(80 * MIB);
      return during.blockedMs;
    };
    expect(await bestOf(4, BLOCKED_MS, blocked)).toBeLessThan(BLOCKED_MS);
  }, 15_000);

  it('U14 holds little and stands still for little while an engine sends a byte a packet', async () => {
    const body = deltaEvent('x'.repeat(600)) + FINISH_EVENT + DONE_EVENT;
    world.engine.play(async ({ socket }) => {
      socket.write(STREAM_HEAD);
      for (const byte of body) {
        socket.write(chunk(byte));
        if (Math.random() < 0.1) await delay(0);
      }
      socket.write(LAST_CHUNK);
    });
    const blocked = async (): Promise<number> => {
      const before = await probe(world.gateway);
      const answer = await world.send(streamRequest());
      expect([answer.end, answer.text()]).toEqual(['clean', body]);
      const after = await probe(world.gateway);
      expect(after.heldBytes - before.heldBytes).toBeLessThan(5 * MIB);
      return after.blockedMs;
    };
    expect(await bestOf(4, BLOCKED_MS, blocked)).toBeLessThan(BLOCKED_MS);
  }, 15_000);
});
