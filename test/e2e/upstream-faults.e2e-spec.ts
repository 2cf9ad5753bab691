import { setTimeout as delay } from 'node:timers/promises';
import {
  ask,
  CHAT_ANSWER,
  chatRequest,
  chunk,
  deltaEvent,
  DONE_EVENT,
  FINISH_EVENT,
  jsonAnswer,
  LAST_CHUNK,
  STREAM_HEAD,
  streamAnswer,
  streamRequest,
} from '../support/chat-wire.js';
import { DeafListener } from '../support/deaf-listener.js';
import { isObject, type JsonObject } from '../support/json.js';
import { sendRaw, type RawResponse, type RequestParts } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';
import { startGateway, type RunningGateway } from '../support/start-gateway.js';
import { TcpEngine, type TcpRequest } from '../support/tcp-engine.js';

const LIBRARY = /undici|UND_ERR|HPE_|ECONN|node:|127\.0\.0\.1:|Error:|\bat \//;
const READ_MS = 2000;

type Play = (request: TcpRequest) => unknown;

const write =
  (bytes: string): Play =>
  ({ socket }) =>
    socket.write(bytes);
const writeAndEnd =
  (bytes: string): Play =>
  ({ socket }) =>
    socket.end(bytes);
/** The bytes have arrived before the reset can overtake them. */
const writeAndReset =
  (bytes: string): Play =>
  async ({ socket }) => {
    socket.write(bytes);
    await delay(30);
    socket.resetAndDestroy();
  };

const plainRequest = (method = 'GET', path = '/plain/x'): RequestParts => ({ method, path });

/** An engine that misbehaves costs its own caller a clear answer, and nobody else anything. */
describe('upstreams that misbehave', () => {
  let engine: TcpEngine;
  let other: TcpEngine;
  let deaf: DeafListener;
  let gateway: RunningGateway;

  beforeAll(async () => {
    engine = await TcpEngine.start();
    deaf = await DeafListener.start();
    other = await TcpEngine.start(write(jsonAnswer()));
    const timeouts = { connect: '300ms', read: `${String(READ_MS)}ms`, write: '5s' };
    gateway = await startGateway({
      upstreams: [
        { name: 'engine', url: engine.url, engine: 'openai', slots: { limit: 4, perEndpoint: 4 } },
        { name: 'other', url: other.url, engine: 'openai' },
        { name: 'deaf', url: deaf.url, engine: 'openai' },
        { name: 'refusing', url: 'http://127.0.0.1:9', engine: 'openai' },
      ],
      models: [
        { id: 'demo-chat', upstream: 'engine', operations: ['chat'] },
        { id: 'other-chat', upstream: 'other', operations: ['chat'] },
        { id: 'deaf-chat', upstream: 'deaf', operations: ['chat'] },
        { id: 'refusing-chat', upstream: 'refusing', operations: ['chat'] },
      ],
      proxies: [
        { prefix: '/plain', upstream: 'engine', methods: ['GET', 'HEAD', 'POST'], more: { timeouts, maxBody: '8MiB' } },
        { prefix: '/forwarding', upstream: 'engine', more: { timeouts, forward: ['cookie'] } },
      ],
      operations: { chat: { timeouts } },
    });
  }, 60_000);

  afterAll(async () => {
    await gateway.stop();
    await engine.stop();
    await other.stop();
    deaf.stop();
  });

  afterEach(async () => {
    await eventually(async () => (await gateway.metric('slots_in_use')) === 0);
  });

  const send = (request: RequestParts) => sendRaw(gateway.port, request);

  function expectProblem(answer: RawResponse, status: number, code?: string): JsonObject {
    expect(answer.status).toBe(status);
    expect(answer.end).toBe('clean');
    expect(answer.header('content-type')).toBe('application/problem+json');
    const body = answer.json();
    expect(body).toMatchObject({ status, ...(code !== undefined && { type: `https://gateway.test/problems/${code}` }) });
    expect(answer.text()).not.toMatch(LIBRARY);
    return isObject(body) ? body : {};
  }

  async function expectNextServed(): Promise<void> {
    engine.play(write(jsonAnswer()));
    const next = await send(chatRequest());
    expect([next.status, next.text()]).toEqual([200, CHAT_ANSWER]);
  }

  const CRLF = (...lines: string[]) => [...lines, '', ''].join('\r\n');
  const HEAD_FAULTS: readonly (readonly [string, Play])[] = [
    ['closes without a word', ({ socket }) => socket.end()],
    ['resets without a word', ({ socket }) => socket.resetAndDestroy()],
    ['closes within the status line', writeAndEnd('HTTP/1.1 20')],
    ['closes within its fields', writeAndEnd('HTTP/1.1 200 OK\r\ncontent-type: appl')],
    ['resets within its fields', writeAndReset('HTTP/1.1 200 OK\r\ncontent-type: appl')],
    ['speaks SSH', write('SSH-2.0-OpenSSH_9.6\r\n')],
    ['speaks TLS', ({ socket }) => socket.write(Buffer.from('150303000202460a', 'hex'))],
    ['speaks HTTP/2', ({ socket }) => socket.write(Buffer.from('000000040000000000', 'hex'))],
    ['gives both framings', write(CRLF('HTTP/1.1 200 OK', 'content-length: 5', 'transfer-encoding: chunked') + '5\r\nhello\r\n0\r\n\r\n')],
    ['gives two lengths', write(CRLF('HTTP/1.1 200 OK', 'content-length: 5', 'content-length: 6') + 'hello!')],
    ['gives a length that is none', write(CRLF('HTTP/1.1 200 OK', 'content-length: 5x') + 'hello')],
    ['gives a status below 100', write(CRLF('HTTP/1.1 099 Odd', 'content-length: 5') + 'hello')],
    ['gives a status of two digits', write(CRLF('HTTP/1.1 20 OK', 'content-length: 5') + 'hello')],
    ['switches protocols unasked', write(CRLF('HTTP/1.1 101 Switching Protocols', 'connection: upgrade', 'upgrade: websocket'))],
    ['switches to nothing unasked', write(CRLF('HTTP/1.1 101 Switching Protocols'))],
    ['sends a NUL in a field', write(CRLF('HTTP/1.1 200 OK', 'x-a: b\0c', 'content-length: 0'))],
    ['sends a folded field', write(CRLF('HTTP/1.1 200 OK', 'x-a: b', ' folded', 'content-length: 0'))],
    ['sends a head without end', write(`HTTP/1.1 200 OK\r\nx-a: ${'a'.repeat(70 * 1024)}`)],
  ];

  it.each(HEAD_FAULTS)('U1 answers 502 where the engine %s', async (_, play) => {
    for (const request of [chatRequest(), streamRequest(), plainRequest()]) {
      engine.play(play);
      expectProblem(await send(request), 502);
      expect(engine.requests).toHaveLength(1);
      await expectNextServed();
    }
  });

  it('U1 answers 502 where nobody listens', async () => {
    expectProblem(await send(chatRequest({ model: 'refusing-chat' })), 502, 'upstream-unreachable');
    await expectNextServed();
  });

  it.each([
    ['a call', chatRequest],
    ['a stream', streamRequest],
    ['a plain request', () => plainRequest()],
  ])('U2 answers 504 to %s once the engine has been silent for its time, and closes its socket', async (_, request) => {
    engine.play(() => undefined);
    const askedAt = performance.now();
    const answering = send(request());
    const { left } = await engine.request(0);
    expectProblem(await answering, 504, 'upstream-timeout');
    const tookMs = performance.now() - askedAt;
    expect(tookMs).toBeGreaterThan(READ_MS - 1000);
    expect(tookMs).toBeLessThan(READ_MS + 1000);
    await left;
    expect(engine.requests).toHaveLength(1);
  });

  it('U3 answers 504 at the connect timeout where no connection comes about', async () => {
    const askedAt = performance.now();
    expectProblem(await send(chatRequest({ model: 'deaf-chat' })), 504, 'upstream-timeout');
    const tookMs = performance.now() - askedAt;
    expect(tookMs).toBeGreaterThan(250);
    expect(tookMs).toBeLessThan(READ_MS - 500);
  });

  const CUTS: readonly (readonly [string, string])[] = [
    ['with a length', CRLF('HTTP/1.1 200 OK', 'content-type: application/json', 'content-length: 4000000') + CHAT_ANSWER],
    ['between two chunks', CRLF('HTTP/1.1 200 OK', 'content-type: application/json', 'transfer-encoding: chunked') + chunk(CHAT_ANSWER)],
    ['inside a chunk', CRLF('HTTP/1.1 200 OK', 'content-type: application/json', 'transfer-encoding: chunked') + `fff\r\n${CHAT_ANSWER}`],
  ];
  const CUTTERS = { FIN: writeAndEnd, RST: writeAndReset, silence: write } as const;

  describe.each(['FIN', 'RST', 'silence'] as const)('U4 a body cut by %s', (by) => {
    it.each(CUTS)('is no clean answer to anyone, %s', async (_, bytes) => {
      engine.play(CUTTERS[by](bytes));
      // A call is held until it is whole, so its client gets a status of its own.
      expectProblem(await send(chatRequest()), by === 'silence' ? 504 : 502);
      engine.play(CUTTERS[by](bytes));
      const plain = await send(plainRequest());
      expect([plain.status, plain.end, plain.text()]).toEqual([200, 'cut', CHAT_ANSWER]);
      await expectNextServed();
    });

    it('ends a stream with an error event and no [DONE], on an event boundary', async () => {
      engine.play(CUTTERS[by](STREAM_HEAD + chunk(deltaEvent('one'))));
      const answer = await send(streamRequest());
      expect([answer.status, answer.end]).toEqual([200, 'clean']);
      expect(answer.text().startsWith(deltaEvent('one'))).toBe(true);
      const last = /^data: (\{"error".*\})\n\n$/.exec(answer.text().slice(deltaEvent('one').length))?.[1];
      expect(JSON.parse(last ?? 'null')).toMatchObject({ error: { message: expect.any(String) as unknown } });
      expect(answer.text()).not.toMatch(LIBRARY);
      await expectNextServed();
    });

    it('cuts a stream inside an event, where nothing can be said any more', async () => {
      engine.play(CUTTERS[by](STREAM_HEAD + chunk(deltaEvent('x'.repeat(200_000)).slice(0, 150_000))));
      const answer = await send(streamRequest());
      const isTold = answer.end === 'clean' && answer.text().includes('"error"');
      expect(answer.end === 'cut' || isTold).toBe(true);
      expect(answer.text()).not.toContain('[DONE]');
      await expectNextServed();
    });
  });

  it.each(['zz\r\nhello\r\n', '-5\r\nhello\r\n', '0x5\r\nhello\r\n', 'ffffffffffffffffff\r\nhello'])(
    'U4 takes no bad chunk size for an end: %j',
    async (bad) => {
      engine.play(write(STREAM_HEAD + chunk(deltaEvent('one')) + bad));
      const stream = await send(streamRequest());
      expect(stream.text()).toMatch(/data: \{"error".*\}\n\n$/);
      expect(stream.text()).not.toContain('[DONE]');
      engine.play(write(CRLF('HTTP/1.1 200 OK', 'transfer-encoding: chunked') + chunk('one') + bad));
      const plain = await send(plainRequest());
      expect([plain.end, plain.text()]).toEqual(['cut', 'one']);
      await expectNextServed();
    },
  );

  it('U4 closes the connection of a client whose stream has failed', async () => {
    engine.play(writeAndEnd(STREAM_HEAD + chunk(deltaEvent('one'))));
    const client = await ask(gateway, streamRequest());
    expect((await client.response()).end).toBe('clean');
    expect(await client.closed).toBe('fin');
  });

  it('U4 U13 says so where a stream ends cleanly but says not that it has finished', async () => {
    engine.play(write(STREAM_HEAD + chunk(deltaEvent('one')) + LAST_CHUNK));
    const answer = await send(streamRequest());
    expect(answer.text()).toMatch(/data: \{"error".*\}\n\n$/);
  });

  it.each([
    ['at once', 0],
    ['later', 60],
  ])('U5 delivers a whole extra answer to nobody, sent %s', async (_, waitMs) => {
    const stolen = jsonAnswer('{"choices":[],"stolen":true}');
    engine.play(async ({ socket }) => {
      if (waitMs === 0) socket.write(jsonAnswer() + stolen);
      else {
        socket.write(jsonAnswer());
        await delay(waitMs);
        socket.write(stolen);
      }
    });
    const first = await send(chatRequest());
    const { connection, left } = await engine.request(0);
    await left;
    for (let i = 0; i < 3; i++) {
      engine.play(write(jsonAnswer()));
      const next = await send(chatRequest());
      expect(next.text()).toBe(CHAT_ANSWER);
      expect(engine.requests[0]?.connection).not.toBe(connection);
    }
    expect(first.text()).toBe(CHAT_ANSWER);
  });

  it('U5 delivers bytes behind the last chunk to nobody', async () => {
    engine.play(write(`${streamAnswer('one')}${deltaEvent('stolen')}`));
    const first = await send(streamRequest());
    expect(first.text()).toBe(deltaEvent('one') + FINISH_EVENT + DONE_EVENT);
    await (await engine.request(0)).left;
    await expectNextServed();
  });

  it.each([
    ['102', 'HTTP/1.1 102 Processing\r\n\r\n'],
    ['103', 'HTTP/1.1 103 Early Hints\r\nlink: </x>; rel=preload\r\n\r\n'],
    ['three of them', 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(3)],
  ])('U6 takes no harm of %s before the answer, and does not hand it on', async (_, early) => {
    engine.play(async ({ socket }) => {
      socket.write(early);
      await delay(20);
      socket.write(jsonAnswer());
    });
    const client = await ask(gateway, chatRequest());
    const heard: Buffer[] = [];
    client.socket.prependListener('data', (bytes: Buffer) => heard.push(bytes));
    const answer = await client.response();
    expect([answer.status, answer.text()]).toEqual([200, CHAT_ANSWER]);
    expect(Buffer.concat(heard).toString()).toMatch(/^HTTP\/1\.1 200 /);
    client.destroy();
  });

  it('U6 answers 502 to a 100 that was not asked for, and serves the next caller', async () => {
    engine.play(write(`HTTP/1.1 100 Continue\r\n\r\n${jsonAnswer()}`));
    expectProblem(await send(chatRequest()), 502);
    await expectNextServed();
  });

  it('U6 cuts an engine that sends informational answers without end', async () => {
    engine.play(async ({ socket }) => {
      for (let i = 0; i < 500 && socket.writable; i++) {
        socket.write('HTTP/1.1 103 Early Hints\r\n\r\n');
        await delay(2);
      }
    });
    expectProblem(await send(chatRequest()), 502);
    await (await engine.request(0)).left;
  });

  it.each([400, 404, 409, 413, 422, 429, 500, 503])('U7 hands on the status and message of a %d, once', async (status) => {
    const body = JSON.stringify({ error: { message: 'what the engine said', type: 'engine_error', param: null, code: null } });
    engine.play(write(jsonAnswer(body, `${String(status)} Told`, ['retry-after: 7', 'set-cookie: a=b', 'server: engine/1'])));
    const answer = await send(chatRequest());
    expect([answer.status, answer.text()]).toEqual([status, body]);
    expect(answer.header('retry-after')).toBe('7');
    expect([answer.header('set-cookie'), answer.header('server')]).toEqual([undefined, undefined]);
    expect(engine.requests).toHaveLength(1);
  });

  it.each([401, 403, 407])('U8 answers 502 to a %d of the engine, without its challenge', async (status) => {
    for (const request of [chatRequest(), streamRequest(), plainRequest()]) {
      engine.play(write(jsonAnswer('{"error":{"message":"secret key sk-1"}}', `${String(status)} No`, ['www-authenticate: Basic realm="engine"'])));
      const answer = await send(request);
      expectProblem(answer, 502, 'upstream-refused-us');
      expect(answer.header('www-authenticate')).toBeUndefined();
      expect(answer.text()).not.toContain('sk-1');
    }
  });

  it('U8 hands a 401 on where the caller has credentials of its own, without the challenge', async () => {
    engine.play(write(jsonAnswer('{}', '401 No', ['www-authenticate: Basic realm="engine"'])));
    const answer = await send(plainRequest('GET', '/forwarding/x'));
    expect([answer.status, answer.header('www-authenticate')]).toEqual([401, undefined]);
  });

  it.each([300, 301, 302, 303, 307, 308])('U9 answers 502 to a %d, follows it nowhere and hands it out to nobody', async (status) => {
    const asked = other.requests.length;
    for (const request of [chatRequest(), plainRequest()]) {
      engine.play(write(jsonAnswer('{}', `${String(status)} Moved`, [`location: ${other.url}/v1/chat/completions`])));
      const answer = await send(request);
      expectProblem(answer, 502, 'upstream-refused-us');
      expect(answer.header('location')).toBeUndefined();
    }
    expect(other.requests).toHaveLength(asked);
  });

  it.each([
    ['204', 'GET', CRLF('HTTP/1.1 204 No Content', 'content-length: 5') + 'hello', 204],
    ['304', 'GET', CRLF('HTTP/1.1 304 Not Modified', 'content-length: 5', 'etag: "a"') + 'hello', 304],
    ['204 in chunks', 'GET', CRLF('HTTP/1.1 204 No Content', 'transfer-encoding: chunked') + chunk('hello') + LAST_CHUNK, 204],
    ['an answer to HEAD', 'HEAD', CRLF('HTTP/1.1 200 OK', 'content-length: 5', 'connection: keep-alive') + 'hello', 200],
    ['an honest answer to HEAD', 'HEAD', CRLF('HTTP/1.1 200 OK', 'content-length: 5'), 200],
  ])('U10 lets no body of %s reach the client, and keeps its connection in step', async (_, method, bytes, status) => {
    engine.play(write(bytes));
    const client = await ask(gateway, plainRequest(method));
    const first = await client.response({ method });
    expect([first.status, first.text(), first.end]).toEqual([status, '', 'clean']);
    if (status === 204) expect(first.header('content-length')).toBeUndefined();
    engine.play(write(jsonAnswer()));
    client.send('GET /plain/next HTTP/1.1\r\nhost: a\r\n\r\n');
    const next = await client.response();
    expect([next.status, next.text()]).toEqual([200, CHAT_ANSWER]);
    client.destroy();
  });

  it('U10 answers 502 to an API call that gets no body', async () => {
    for (const status of ['204 No Content', '205 Reset Content', '304 Not Modified']) {
      engine.play(write(CRLF(`HTTP/1.1 ${status}`)));
      expectProblem(await send(chatRequest()), 502);
    }
  });

  describe.each([
    ['and closes', (socket: TcpRequest['socket'], bytes: string) => socket.end(bytes)],
    ['and keeps the connection', (socket: TcpRequest['socket'], bytes: string) => socket.write(bytes)],
  ])('U11 an engine that answers before it has read the request %s', (_, answer) => {
    it.each([413, 429, 503])('is heard with its %d, and its connection not used again', async (status) => {
      const body = '{"error":{"message":"too much","type":"engine_error","param":null,"code":null}}';
      engine.play(
        ({ socket }) => {
          socket.pause();
          answer(socket, jsonAnswer(body, `${String(status)} Early`));
        },
        { answersHead: true },
      );
      const upload: RequestParts = { method: 'POST', path: '/plain/upload', body: Buffer.alloc(7 * 1024 * 1024, 'x') };
      const client = await ask(gateway, upload);
      const heard = await client.response();
      expect([heard.status, heard.text()]).toEqual([status, body]);
      client.destroy();
      const { connection } = await engine.request(0);
      await expectNextServed();
      expect(engine.requests[0]?.connection).not.toBe(connection);
    });
  });

  it('U12 lets a stream live that is silent for less than its time, for longer than that in all', async () => {
    engine.play(async ({ socket }) => {
      socket.write(STREAM_HEAD);
      for (const text of ['one', 'two', 'three']) {
        await delay(READ_MS * 0.5);
        socket.write(chunk(deltaEvent(text)));
      }
      socket.write(chunk(FINISH_EVENT) + chunk(DONE_EVENT) + LAST_CHUNK);
    });
    const answer = await send(streamRequest());
    expect(answer.text()).toBe(['one', 'two', 'three'].map(deltaEvent).join('') + FINISH_EVENT + DONE_EVENT);
  });

  it('U13 ends a stream visibly that has been silent for too long, and closes the engine', async () => {
    engine.play(write(STREAM_HEAD + chunk(deltaEvent('one'))));
    const askedAt = performance.now();
    const answer = await send(streamRequest());
    expect(performance.now() - askedAt).toBeLessThan(READ_MS + 1000);
    expect(answer.text()).toMatch(/data: \{"error".*\}\n\n$/);
    expect(answer.text()).toContain('timeout');
    await (await engine.request(0)).left;
  });

  it('U16 uses an engine again as soon as it is back', async () => {
    await engine.stop();
    expectProblem(await send(chatRequest()), 502, 'upstream-unreachable');
    await engine.listen();
    await expectNextServed();
  });

  it('U17 keeps the latency and the slots of other engines while one is stuck or down', async () => {
    engine.play(() => undefined);
    const stuck = await Promise.all(Array.from({ length: 30 }, () => ask(gateway, streamRequest())));
    await engine.request(3);
    const times: number[] = [];
    for (let i = 0; i < 20; i++) {
      const askedAt = performance.now();
      expect((await send(chatRequest({ model: 'other-chat' }))).status).toBe(200);
      times.push(performance.now() - askedAt);
    }
    expect(times.toSorted((a, b) => a - b)[10]).toBeLessThan(100);
    expect(await gateway.metric('slots_in_use', { upstream: 'other' })).toBe(0);
    stuck.forEach((client) => client.destroy());
  });
});
