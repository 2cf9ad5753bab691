import { setTimeout as delay } from 'node:timers/promises';
import { chunk, deltaEvent, DONE_EVENT, FINISH_EVENT, LAST_CHUNK, STREAM_HEAD, streamAnswer, streamRequest } from '../support/chat-wire.js';
import { EngineWorld } from '../support/engine-world.js';
import { openFiles, probe, PROBED } from '../support/gateway-probe.js';
import { bestOf } from '../support/measure.js';
import { RawConnection, requestBytes, type RequestParts } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';
import { pour } from '../support/tcp-engine.js';

const MIB = 1024 * 1024;
const LANES = 8;
const BLOCKED_MS = 50;

/** What lasts, or comes again and again, leaves the process as it was. */
describe('endurance', () => {
  let world: EngineWorld;

  beforeAll(async () => {
    world = await EngineWorld.start({ proxies: [{ prefix: '/files', upstream: 'engine' }], telemetry: { logLevel: 'error' } }, { env: PROBED });
  }, 60_000);

  afterAll(() => world.stop());

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
    const count = 5000;
    world.engine.play(async ({ socket }) => {
      socket.write(STREAM_HEAD);
      for (let i = 0; i < count; i++) if (!socket.write(event)) await new Promise((resolve) => socket.once('drain', resolve));
      socket.write([FINISH_EVENT, DONE_EVENT].map(chunk).join('') + LAST_CHUNK);
    });
    const before = await probe(world.gateway);
    let bytes = 0;
    const client = await world.ask(streamRequest());
    client.socket.prependListener('data', (piece: Buffer) => (bytes += piece.length));
    await eventually(() => bytes > count * 8000 * 0.8);
    const during = await probe(world.gateway);
    expect(during.heldBytes - before.heldBytes).toBeLessThan(10 * MIB);
    client.destroy();
  }, 15_000);

  it('U14 holds little and stands still for little while an engine pours as fast as it can', async () => {
    const size = 300 * MIB;
    const request: RequestParts = { method: 'GET', path: '/files/x' };
    world.engine.play(({ socket }) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\ncontent-length: ${String(size)}\r\n\r\n`);
      pour(socket, size);
    });
    const blocked = async (): Promise<number> => {
      const before = await probe(world.gateway);
      const clients = await Promise.all([world.ask(request), world.ask(request), world.ask(request)]);
      // One reads as fast as it can, one now and then, one not at all.
      const pieces = { bytes: 0 };
      clients[0]?.socket.prependListener('data', (piece: Buffer) => (pieces.bytes += piece.length));
      clients[2]?.socket.pause();
      for (let i = 0; i < 20; i++) {
        if (i % 2 === 0) clients[1]?.socket.pause();
        else clients[1]?.socket.resume();
        await delay(25);
      }
      expect(pieces.bytes).toBeGreaterThan(0);
      const during = await probe(world.gateway);
      clients.forEach((client) => client.destroy());
      await world.slotsFree();
      expect(during.rssBytes - before.rssBytes).toBeLessThan(80 * MIB);
      return during.blockedMs;
    };
    expect(await bestOf(4, BLOCKED_MS, blocked)).toBeLessThan(BLOCKED_MS);
  }, 15_000);

  it('U14 holds little and stands still for little while an engine sends a byte a packet', async () => {
    const body = deltaEvent('x'.repeat(3000)) + FINISH_EVENT + DONE_EVENT;
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
