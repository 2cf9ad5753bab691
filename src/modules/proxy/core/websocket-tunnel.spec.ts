import { EventEmitter } from 'node:events';
import type { Clock, Timer } from '../../../common/clock.js';
import { RequestRecord } from '../../../common/request-record.js';
import { SocketSide, type OpenSocket } from './websocket-side.js';
import { Tunnel, type TunnelPolicy } from './websocket-tunnel.js';

const MiB = 1024 * 1024;
const WRITE_MS = 10_000;

/** Fires what is due when it is told that time has passed. */
class SteppedClock implements Clock {
  #nowMs = 0;
  readonly #pending = new Map<() => void, number>();

  now(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): Timer {
    const once = (): void => callback();
    this.#pending.set(once, this.#nowMs + delayMs);
    return { cancel: () => void this.#pending.delete(once) };
  }

  get timers(): number {
    return this.#pending.size;
  }

  advance(byMs: number): void {
    this.#nowMs += byMs;
    for (const [callback, dueMs] of [...this.#pending]) {
      if (dueMs <= this.#nowMs && this.#pending.delete(callback)) callback();
    }
  }
}

/** An open socket that takes nothing until it is told to. */
class ScriptedSocket extends EventEmitter implements OpenSocket {
  readonly OPEN = 1;
  readonly CLOSED = 3;
  readyState = 1;
  isPaused = true;
  bufferedAmount = 0;
  readonly sent: string[] = [];
  readonly closes: unknown[] = [];
  pongs = 0;
  readonly #waiting: { bytes: number; sent: () => void }[] = [];

  send(data: Buffer, _options: { readonly binary: boolean }, sent: () => void): void {
    this.sent.push(data.length > 20 ? `${data.length} bytes` : data.toString());
    this.bufferedAmount += data.length;
    this.#waiting.push({ bytes: data.length, sent });
  }

  /** The other end takes all that waits. */
  take(): void {
    for (const { bytes, sent } of this.#waiting.splice(0)) {
      this.bufferedAmount -= bytes;
      sent();
    }
  }

  ping(): void {
    this.emit('pinged');
  }

  pong(): void {
    this.pongs += 1;
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  close(code: number | undefined): void {
    if (this.readyState !== this.OPEN) return;
    this.closes.push(code);
    this.readyState = 2;
  }

  terminate(): void {
    if (this.readyState !== this.CLOSED) this.end(1006);
  }

  /** Its connection is over. */
  end(code: number, reason = ''): void {
    this.readyState = this.CLOSED;
    this.emit('close', code, Buffer.from(reason));
  }
}

function tunnelWorld(policy: Partial<TunnelPolicy> = {}) {
  const clock = new SteppedClock();
  const record = new RequestRecord('id-1', 0, () => undefined);
  const [client, upstream] = [new ScriptedSocket(), new ScriptedSocket()];
  const tunnel = new Tunnel(
    new SocketSide(client, {}, clock, WRITE_MS),
    new SocketSide(upstream, {}, clock, WRITE_MS),
    { readMs: 3_600_000, totalMs: undefined, pingMs: 3_600_000, missedPongs: 2, ...policy },
    record,
    clock,
  );
  tunnel.start();
  return { clock, record, client, upstream, tunnel };
}

describe('Tunnel', () => {
  it('counts what it hands on', () => {
    const { client, upstream, record } = tunnelWorld();
    client.emit('message', Buffer.from('up'), false);
    upstream.emit('message', [Buffer.from('do'), Buffer.from('wn')], true);
    expect([upstream.sent, client.sent, record.requestBytes, record.responseBytes]).toEqual([['up'], ['down'], 2, 4]);
  });

  it.each([
    ['bytes', 2, MiB],
    ['messages', 4097, 0],
  ])('holds one side while too many %s wait for the other, and probes it', (_, count, size) => {
    const { client, upstream, clock } = tunnelWorld();
    for (let i = 0; i < count; i++) upstream.emit('message', Buffer.alloc(size), true);
    expect([upstream.isPaused, client.isPaused]).toEqual([true, false]);
    clock.advance(400);
    clock.advance(400);
    expect(upstream.pongs).toBe(2);
    client.take();
    clock.advance(400);
    expect([upstream.isPaused, upstream.pongs]).toEqual([false, 2]);
  });

  it('closes behind what was sent before an orderly close', () => {
    const { client, upstream } = tunnelWorld();
    upstream.emit('message', Buffer.from('last'), false);
    upstream.end(1000);
    expect(client.closes).toEqual([]);
    client.take();
    expect(client.closes).toEqual([1000]);
  });

  it('waits for nothing where a side has vanished, and for no reply either', async () => {
    const { client, upstream, clock, record, tunnel } = tunnelWorld();
    client.emit('message', Buffer.from('stuck'), false);
    client.end(1006);
    expect(upstream.closes).toEqual([1001]);
    clock.advance(750);
    await tunnel.over;
    expect([record.clientGone, record.upstreamOutcome, record.phase, clock.timers]).toEqual([
      true,
      'cancelled',
      'done',
      0,
    ]);
  });

  it('tells the other side at once of a fault, and counts it against who made it', async () => {
    const { client, upstream, record, tunnel } = tunnelWorld();
    upstream.emit('error', Object.assign(new Error('reserved opcode'), { code: 'WS_ERR_INVALID_OPCODE' }));
    expect(client.closes).toEqual([1014]);
    upstream.end(1006);
    client.end(1014);
    await tunnel.over;
    expect([record.upstreamOutcome, record.problem]).toEqual(['server_error', 'upstream-invalid']);
  });

  it('gives up a side that takes nothing', () => {
    const { client, upstream, clock, record } = tunnelWorld();
    upstream.emit('message', Buffer.from('x'), false);
    clock.advance(WRITE_MS);
    expect([client.readyState, upstream.closes, record.upstreamOutcome]).toEqual([3, [1001], 'cancelled']);
  });

  it('does not outlive its time, and leaves no timer behind', async () => {
    const { client, upstream, clock, record, tunnel } = tunnelWorld({ totalMs: 60_000 });
    clock.advance(60_000);
    expect([client.closes, upstream.closes]).toEqual([[1001], [1001]]);
    client.end(1001);
    upstream.end(1001);
    await tunnel.over;
    expect([record.upstreamOutcome, record.clientGone, clock.timers]).toEqual(['ok', false, 0]);
  });
});
