import { chatRequest, jsonAnswer, streamRequest } from '../support/chat-wire.js';
import { DeafListener } from '../support/deaf-listener.js';
import { EngineWorld, expectProblem } from '../support/engine-world.js';
import { head, plainRequest, write, writeAndEnd, writeAndReset } from '../support/play.js';
import { TcpEngine, type TcpAnswer } from '../support/tcp-engine.js';

const READ_MS = 2000;
const TIMEOUTS = { connect: '300ms', read: `${String(READ_MS)}ms`, write: '5s' };

/** An engine that misbehaves costs its own caller a clear answer, and nobody else anything. */
describe('upstreams that misbehave', () => {
  let world: EngineWorld;
  let other: TcpEngine;
  let deaf: DeafListener;

  beforeAll(async () => {
    other = await TcpEngine.start(write(jsonAnswer()));
    deaf = await DeafListener.start();
    world = await EngineWorld.start({
      upstream: { slots: { limit: 4, perEndpoint: 4 } },
      others: [
        { name: 'other', url: other.url, engine: 'openai' },
        { name: 'deaf', url: deaf.url, engine: 'openai' },
        { name: 'refusing', url: 'http://127.0.0.1:9', engine: 'openai' },
      ],
      models: [
        { id: 'other-chat', upstream: 'other', operations: ['chat'] },
        { id: 'deaf-chat', upstream: 'deaf', operations: ['chat'] },
        { id: 'refusing-chat', upstream: 'refusing', operations: ['chat'] },
      ],
      proxies: [{ prefix: '/plain', upstream: 'engine', more: { timeouts: TIMEOUTS } }],
      operations: { chat: { timeouts: TIMEOUTS } },
    });
  }, 60_000);

  afterAll(async () => {
    await world.stop();
    await other.stop();
    deaf.stop();
  });

  afterEach(() => world.slotsFree());

  const HEAD_FAULTS: readonly (readonly [string, TcpAnswer])[] = [
    ['closes without a word', ({ socket }) => socket.end()],
    ['resets without a word', ({ socket }) => socket.resetAndDestroy()],
    ['closes within the status line', writeAndEnd('HTTP/1.1 20')],
    ['closes within its fields', writeAndEnd('HTTP/1.1 200 OK\r\ncontent-type: appl')],
    ['resets within its fields', writeAndReset('HTTP/1.1 200 OK\r\ncontent-type: appl')],
    ['speaks SSH', write('SSH-2.0-OpenSSH_9.6\r\n')],
    ['speaks TLS', ({ socket }) => socket.write(Buffer.from('150303000202460a', 'hex'))],
    ['speaks HTTP/2', ({ socket }) => socket.write(Buffer.from('000000040000000000', 'hex'))],
    [
      'gives both framings',
      write(head('HTTP/1.1 200 OK', 'content-length: 5', 'transfer-encoding: chunked') + '5\r\nhello\r\n0\r\n\r\n'),
    ],
    ['gives two lengths', write(head('HTTP/1.1 200 OK', 'content-length: 5', 'content-length: 6') + 'hello!')],
    ['gives a length that is none', write(head('HTTP/1.1 200 OK', 'content-length: 5x') + 'hello')],
    ['gives a status below 100', write(head('HTTP/1.1 099 Odd', 'content-length: 5') + 'hello')],
    ['gives a status of two digits', write(head('HTTP/1.1 20 OK', 'content-length: 5') + 'hello')],
    [
      'switches protocols unasked',
      write(head('HTTP/1.1 101 Switching Protocols', 'connection: upgrade', 'upgrade: websocket')),
    ],
    ['switches to nothing unasked', write(head('HTTP/1.1 101 Switching Protocols'))],
    ['sends a NUL in a field', write(head('HTTP/1.1 200 OK', 'x-a: b\0c', 'content-length: 0'))],
    ['sends a folded field', write(head('HTTP/1.1 200 OK', 'x-a: b', ' folded', 'content-length: 0'))],
    ['sends a head without end', write(`HTTP/1.1 200 OK\r\nx-a: ${'a'.repeat(70 * 1024)}`)],
  ];

  it.each(HEAD_FAULTS)('U1 answers 502 where the engine %s', async (_, play) => {
    for (const request of [chatRequest(), streamRequest(), plainRequest()]) {
      world.engine.play(play);
      expectProblem(await world.send(request), 502);
      expect(world.engine.requests).toHaveLength(1);
      await world.expectNextServed();
    }
  });

  it('U1 answers 502 where nobody listens', async () => {
    expectProblem(await world.send(chatRequest({ model: 'refusing-chat' })), 502, 'upstream-unreachable');
    await world.expectNextServed();
  });

  it.each([
    ['a call', chatRequest],
    ['a stream', streamRequest],
    ['a plain request', () => plainRequest()],
  ])('U2 answers 504 to %s once the engine has been silent for its time, and closes its socket', async (_, request) => {
    world.engine.play(() => undefined);
    const askedAt = performance.now();
    const answering = world.send(request());
    const { left } = await world.engine.request(0);
    expectProblem(await answering, 504, 'upstream-timeout');
    const tookMs = performance.now() - askedAt;
    expect(tookMs).toBeGreaterThan(READ_MS - 1000);
    expect(tookMs).toBeLessThan(READ_MS + 1000);
    await left;
    expect(world.engine.requests).toHaveLength(1);
  });

  it('U3 answers 504 at the connect timeout where no connection comes about', async () => {
    const askedAt = performance.now();
    expectProblem(await world.send(chatRequest({ model: 'deaf-chat' })), 504, 'upstream-timeout');
    const tookMs = performance.now() - askedAt;
    expect(tookMs).toBeGreaterThan(250);
    expect(tookMs).toBeLessThan(READ_MS - 500);
  });

  it('U16 uses an engine again as soon as it is back', async () => {
    await world.engine.stop();
    expectProblem(await world.send(chatRequest()), 502, 'upstream-unreachable');
    await world.engine.listen();
    await world.expectNextServed();
  });

  it('U17 keeps the latency and the slots of other engines while one is stuck or down', async () => {
    world.engine.play(() => undefined);
    const stuck = await Promise.all(Array.from({ length: 30 }, () => world.ask(streamRequest())));
    await world.engine.request(3);
    const times: number[] = [];
    for (let i = 0; i < 20; i++) {
      const askedAt = performance.now();
      expect((await world.send(chatRequest({ model: 'other-chat' }))).status).toBe(200);
      times.push(performance.now() - askedAt);
    }
    expect(times.toSorted((a, b) => a - b)[10]).toBeLessThan(100);
    expect(await world.gateway.metric('slots_in_use', { upstream: 'other' })).toBe(0);
    stuck.forEach((client) => client.destroy());
  });
});
