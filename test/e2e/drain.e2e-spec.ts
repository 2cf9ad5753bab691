import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import {
  chatRequest,
  chunk,
  deltaEvent,
  DONE_EVENT,
  FINISH_EVENT,
  jsonAnswer,
  LAST_CHUNK,
  STREAM_HEAD,
  streamRequest,
} from '../support/chat-wire.js';
import { EngineWorld, expectProblem } from '../support/engine-world.js';
import { RawConnection, requestBytes, type RequestParts } from '../support/raw-client.js';
import { closeOf, SocketUpstream } from '../support/socket-upstream.js';
import { eventually } from '../support/socket-world.js';

const live: RequestParts = { method: 'GET', path: '/healthz' };
const ready: RequestParts = { method: 'GET', path: '/readyz' };
const SERVER = { drainDelay: '600ms', drainTimeout: '8s' };
const LOOK_AGAIN_MS = 2000;

/** The end of a gateway: nobody who was served is let down, and nobody waits for it longer than said. */
describe('a gateway that is told to end', () => {
  let world: EngineWorld;

  afterEach(() => world.stop());

  const draining = () => eventually(() => world.gateway.logs().some(({ msg }) => msg === 'draining'));

  const refused = async (): Promise<boolean> => {
    const socket = connect(world.gateway.port, '127.0.0.1');
    return Promise.race([once(socket, 'connect').then(() => false), once(socket, 'error').then(() => true)]).catch(
      () => true,
    );
  };

  it('D1 is unready at once, accepts for its delay, closes what is idle, finishes what runs and exits 0', async () => {
    world = await EngineWorld.start({ server: { ...SERVER, keepAliveTimeout: '60s' } });
    world.engine.play(({ socket }) => socket.write(STREAM_HEAD + chunk(deltaEvent('one'))));
    const stream = await world.ask(streamRequest());
    const answering = stream.response();
    const idle = await world.ask(live);
    expect((await idle.response()).header('connection')).not.toBe('close');
    await world.engine.request(0);

    world.gateway.kill('SIGTERM');
    await draining();
    const problem = expectProblem(await world.send(ready), 503, 'not-ready');
    expect(problem).toMatchObject({ failed: ['draining'] });
    // The load balancer goes on sending for a while: all of it is served, and told to come back elsewhere.
    world.engine.answer = ({ socket }) => socket.write(jsonAnswer());
    const late = await world.ask(chatRequest());
    const answer = await late.response();
    expect([answer.status, answer.header('connection')]).toEqual([200, 'close']);
    expect(await late.closed).toBe('fin');
    expect((await world.send(live)).header('connection')).toBe('close');
    await idle.closed;
    await eventually(refused);

    const { socket } = await world.engine.request(0);
    socket.write(chunk(deltaEvent('two')) + chunk(FINISH_EVENT) + chunk(DONE_EVENT) + LAST_CHUNK);
    const finishedAt = performance.now();
    const whole = await answering;
    expect([whole.end, whole.text()]).toEqual([
      'clean',
      deltaEvent('one') + deltaEvent('two') + FINISH_EVENT + DONE_EVENT,
    ]);
    expect(await world.gateway.exit()).toEqual({ code: 0, signal: null });
    expect(performance.now() - finishedAt).toBeLessThan(2000);
  });

  it('D1 turns those away that wait in the queue and have been sent nothing, with a time to come back', async () => {
    world = await EngineWorld.start({ server: SERVER, upstream: { slots: { limit: 1, perEndpoint: 1 } } });
    world.engine.play(() => undefined);
    const holder = await world.ask(chatRequest());
    await world.engine.request(0);
    const waiter = await world.ask(streamRequest());
    await eventually(async () => (await world.queued()) === 1);
    world.gateway.kill('SIGTERM');
    const refusal = await waiter.response();
    expectProblem(refusal, 503, 'draining');
    expect(refusal.header('retry-after')).toBe('1');
    const newcomer = await world.send(chatRequest());
    expectProblem(newcomer, 503, 'draining');
    expect(world.engine.requests).toHaveLength(1);
    (await world.engine.request(0)).socket.write(jsonAnswer());
    expect((await holder.response()).status).toBe(200);
    expect(await world.gateway.exit()).toEqual({ code: 0, signal: null });
  });

  it('D2 ends what runs longer than the drain may take visibly, each in its own way', async () => {
    const sockets = await SocketUpstream.start();
    world = await EngineWorld.start({
      server: { drainDelay: '10ms', drainTimeout: '500ms' },
      others: [{ name: 'console', url: sockets.url, engine: 'http' }],
      proxies: [{ prefix: '/console', upstream: 'console', websocket: true }],
    });
    world.engine.play(({ socket, call }) => call === 0 && socket.write(STREAM_HEAD + chunk(deltaEvent('one'))));
    const stream = await world.ask(streamRequest());
    const streamed = stream.response();
    await eventually(() => stream.socket.bytesRead > 0);
    const call = await world.ask(chatRequest());
    const { left } = await world.engine.request(1);
    const ws = new WebSocket(`ws://127.0.0.1:${String(world.gateway.port)}/console`);
    await Promise.all([once(ws, 'open'), sockets.next()]);
    const closed = closeOf(ws);

    world.gateway.kill('SIGTERM');
    const cut = await streamed;
    expect(cut.end).toBe('clean');
    expect(cut.text()).toMatch(/^data: .*\n\ndata: \{"error":.*\}\n\n$/);
    expect(cut.text()).not.toContain('[DONE]');
    expect(await stream.closed).toBe('fin');
    expectProblem(await call.response(), 503, 'draining');
    expect((await closed).code).toBe(1012);
    await left;
    expect(await world.gateway.exit()).toEqual({ code: 0, signal: null });
    await sockets.stop();
  });

  it.each([
    ['not a byte', () => 0],
    ['half a head', () => 20],
    ['a head without its body', (bytes: Buffer) => bytes.indexOf('\r\n\r\n') + 4],
    ['all but the last byte', (bytes: Buffer) => bytes.length - 1],
  ])('D3 answers a request of which %s had been sent, behind the closing of the listener too', async (_, sent) => {
    world = await EngineWorld.start({ server: { drainDelay: '50ms', drainTimeout: '8s' } });
    world.engine.play(({ socket }) => socket.write(jsonAnswer()));
    const bytes = requestBytes(chatRequest());
    const client = await RawConnection.open(world.gateway.port);
    client.send(bytes.subarray(0, sent(bytes)));
    await delay(50);
    world.gateway.kill('SIGTERM');
    await draining();
    await eventually(refused);
    await delay(300);
    client.send(bytes.subarray(sent(bytes)));
    const answer = await client.response();
    expect([answer.status, answer.header('connection')]).toEqual([200, 'close']);
    expect(await world.gateway.exit()).toEqual({ code: 0, signal: null });
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('D4 ends at once when it is told a second time, by %s', async (second) => {
    world = await EngineWorld.start({ server: { drainDelay: '5s', drainTimeout: '60s' } });
    world.engine.play(({ socket }) => socket.write(STREAM_HEAD + chunk(deltaEvent('one'))));
    const stream = await world.ask(streamRequest());
    const answering = stream.response();
    const { left } = await world.engine.request(0);
    world.gateway.kill('SIGTERM');
    await draining();
    const toldAt = performance.now();
    world.gateway.kill(second);
    expect(await world.gateway.exit()).toEqual({ code: 0, signal: null });
    expect(performance.now() - toldAt).toBeLessThan(LOOK_AGAIN_MS);
    expect((await answering).text()).not.toContain('[DONE]');
    await left;
    expect(world.gateway.output()).not.toMatch(/\n\s+at /);
  });

  it('D4 drains on the first SIGINT as it does on SIGTERM', async () => {
    world = await EngineWorld.start({ server: SERVER });
    world.engine.play(() => undefined);
    const client = await world.ask(chatRequest());
    const { socket } = await world.engine.request(0);
    world.gateway.kill('SIGINT');
    await draining();
    socket.write(jsonAnswer());
    expect((await client.response()).status).toBe(200);
    expect(await world.gateway.exit()).toEqual({ code: 0, signal: null });
  });

  it('D5 lives and is ready while its engine is down', async () => {
    world = await EngineWorld.start();
    await world.engine.stop();
    expectProblem(await world.send(chatRequest()), 502);
    for (const request of [live, ready, live]) expect((await world.send(request)).status).toBe(200);
  });

  it('D8 measures time on a clock that no step of the wall clock moves', async () => {
    // Every look at the wall clock is a day away from the last one.
    const stepping = `let step = 0; const now = Date.now; Date.now = () => now() + (step++ % 2 === 0 ? 1 : -1) * 86400000;`;
    world = await EngineWorld.start(
      {
        operations: { chat: { timeouts: { connect: '2s', read: '1200ms', write: '2s' } } },
        upstream: { slots: { limit: 1, perEndpoint: 1 } },
        admission: { bands: [{ name: 'gold', ceiling: 1, capacity: 4, ttl: '700ms' }] },
        server: { bodyTimeout: '900ms', drainDelay: '100ms' },
      },
      { env: { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(stepping)}` } },
    );
    world.engine.play(() => undefined);
    const timed = async (send: () => Promise<{ status: number }>): Promise<[number, number]> => {
      const from = performance.now();
      const { status } = await send();
      return [status, performance.now() - from];
    };
    const holder = timed(() => world.send(chatRequest()));
    await world.engine.request(0);
    const waiter = timed(() => world.send(chatRequest()));
    const upload = timed(async () => {
      const client = await RawConnection.open(world.gateway.port);
      client.send(requestBytes(chatRequest()).subarray(0, -1));
      return client.response();
    });
    for (const [each, status, afterMs] of [
      [holder, 504, 1200],
      [waiter, 504, 700],
      [upload, 408, 900],
    ] as const) {
      const [found, tookMs] = await each;
      expect(found).toBe(status);
      expect(tookMs).toBeGreaterThan(afterMs - 100);
      expect(tookMs).toBeLessThan(afterMs + 1500);
    }
    world.gateway.kill('SIGTERM');
    expect(await world.gateway.exit()).toEqual({ code: 0, signal: null });
  });
});
