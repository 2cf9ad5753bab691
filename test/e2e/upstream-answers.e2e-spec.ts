import { setTimeout as delay } from 'node:timers/promises';
import {
  CHAT_ANSWER,
  chatRequest,
  chunk,
  deltaEvent,
  DONE_EVENT,
  FINISH_EVENT,
  jsonAnswer,
  LAST_CHUNK,
  streamAnswer,
  streamRequest,
} from '../support/chat-wire.js';
import { EngineWorld, expectProblem } from '../support/engine-world.js';
import { head, plainRequest, write } from '../support/play.js';
import { requestBytes, type RequestParts } from '../support/raw-client.js';
import { TcpEngine, type TcpRequest } from '../support/tcp-engine.js';

const CONTINUE = head('HTTP/1.1 100 Continue');
const HINTS = head('HTTP/1.1 103 Early Hints', 'link: </x>; rel=preload');
const CHUNKED_HEAD = head('HTTP/1.1 200 OK', 'content-type: application/octet-stream', 'transfer-encoding: chunked');
const TIMEOUTS = { connect: '300ms', read: '2s', write: '5s' };

/** What an engine says of itself, to the gateway or too early reaches no client as if it were an answer. */
describe('answers of upstreams', () => {
  let world: EngineWorld;
  let other: TcpEngine;

  beforeAll(async () => {
    other = await TcpEngine.start();
    world = await EngineWorld.start({
      others: [{ name: 'other', url: other.url, engine: 'openai' }],
      proxies: [
        {
          prefix: '/plain',
          upstream: 'engine',
          methods: ['GET', 'HEAD', 'POST'],
          more: { timeouts: TIMEOUTS, maxBody: '8MiB' },
        },
        { prefix: '/forwarding', upstream: 'engine', more: { forward: ['cookie'] } },
      ],
      operations: { chat: { timeouts: TIMEOUTS } },
    });
  }, 60_000);

  afterAll(async () => {
    await world.stop();
    await other.stop();
  });

  afterEach(() => world.slotsFree());

  it.each([
    ['102', 'HTTP/1.1 102 Processing\r\n\r\n'],
    ['103', 'HTTP/1.1 103 Early Hints\r\nlink: </x>; rel=preload\r\n\r\n'],
    ['three of them', 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(3)],
  ])('U6 takes no harm of %s before the answer, and does not hand it on', async (_, early) => {
    world.engine.play(async ({ socket }) => {
      socket.write(early);
      await delay(20);
      socket.write(jsonAnswer());
    });
    const client = await world.ask(chatRequest());
    const heard: Buffer[] = [];
    client.socket.prependListener('data', (bytes: Buffer) => heard.push(bytes));
    const answer = await client.response();
    expect([answer.status, answer.text()]).toEqual([200, CHAT_ANSWER]);
    expect(Buffer.concat(heard).toString()).toMatch(/^HTTP\/1\.1 200 /);
    client.destroy();
  });

  it.each([
    ['in one piece with the answer', [CONTINUE + jsonAnswer()]],
    ['on its own', [CONTINUE, jsonAnswer()]],
    ['in pieces', ['HTTP/1.1 10', '0 Continue\r', '\n\r\nHTTP', jsonAnswer().slice(4)]],
    ['byte by byte', [...CONTINUE, jsonAnswer()]],
    ['with fields', ['HTTP/1.1 100 Continue\r\nserver: engine\r\n\r\n', jsonAnswer()]],
    ['ten times', [CONTINUE.repeat(10) + jsonAnswer()]],
    ['before a 103', [CONTINUE + HINTS + jsonAnswer()]],
    ['behind a 103', [HINTS, CONTINUE, jsonAnswer()]],
  ])('U6 takes no harm of a 100 that was not asked for, %s, and uses the connection again', async (_, pieces) => {
    const connections = new Set<number>();
    world.engine.play(async ({ socket, connection }) => {
      connections.add(connection);
      for (const piece of pieces) {
        socket.write(piece);
        if (pieces.length > 1) await delay(2);
      }
    });
    const client = await world.ask(chatRequest());
    const heard: Buffer[] = [];
    client.socket.prependListener('data', (bytes: Buffer) => heard.push(bytes));
    const first = await client.response();
    client.send(requestBytes(chatRequest()));
    const second = await client.response();
    expect([first.status, first.text(), second.status, second.text()]).toEqual([200, CHAT_ANSWER, 200, CHAT_ANSWER]);
    expect(Buffer.concat(heard).toString()).not.toContain(CONTINUE.slice(0, 12));
    expect(connections.size).toBe(1);
    client.destroy();
  });

  it('U6 takes no harm of a 100 before a stream', async () => {
    world.engine.play(({ socket }) => socket.write(CONTINUE + streamAnswer('one', 'two')));
    const answer = await world.send(streamRequest());
    expect([answer.status, answer.end]).toEqual([200, 'clean']);
    expect(answer.text()).toBe([deltaEvent('one'), deltaEvent('two'), FINISH_EVENT, DONE_EVENT].join(''));
  });

  it('U6 takes no harm of a 100 in answer to a body in pieces', async () => {
    const sent = `${'x'.repeat(3 * 1024 * 1024)}.`;
    world.engine.play(
      ({ socket }) => {
        socket.write(CONTINUE);
        socket.on('data', (piece) => piece.at(-1) === sent.charCodeAt(sent.length - 1) && socket.write(jsonAnswer()));
      },
      { answersHead: true },
    );
    const answer = await world.send({ method: 'POST', path: '/plain/upload', body: sent });
    expect([answer.status, answer.text()]).toEqual([200, CHAT_ANSWER]);
  });

  it.each([
    ['at once', (body: string) => [jsonAnswer(body)]],
    ['behind its head', (body: string) => [jsonAnswer(body).slice(0, -body.length), body]],
    [
      'in chunks',
      (body: string) => [`${CONTINUE}${CHUNKED_HEAD}`, chunk(CONTINUE), chunk(body.slice(CONTINUE.length)), LAST_CHUNK],
    ],
  ])('U6 leaves a body as it is that looks like a 100 and comes %s', async (_, inPieces) => {
    const body = `${CONTINUE}${CONTINUE}${jsonAnswer()}`;
    world.engine.play(async ({ socket }) => {
      for (const piece of inPieces(body)) {
        socket.write(piece);
        await delay(20);
      }
    });
    const answer = await world.send(plainRequest());
    expect([answer.status, answer.end, answer.text()]).toEqual([200, 'clean', body]);
  });

  it('U6 uses no connection again on which a 100 came behind the answer', async () => {
    world.engine.play(write(jsonAnswer() + CONTINUE));
    const first = await world.send(chatRequest());
    expect([first.status, first.text()]).toEqual([200, CHAT_ANSWER]);
    const { connection } = await world.engine.request(0);
    await world.expectNextServed();
    expect(world.engine.requests[0]?.connection).not.toBe(connection);
  });

  it.each([
    ['103s', HINTS],
    ['100s', CONTINUE],
    ['both', CONTINUE + HINTS],
  ])('U6 cuts an engine that sends %s without end', async (_, early) => {
    world.engine.play(async ({ socket }) => {
      for (let i = 0; i < 500 && socket.writable; i++) {
        socket.write(early);
        await delay(2);
      }
    });
    expectProblem(await world.send(chatRequest()), 502);
    await (
      await world.engine.request(0)
    ).left;
  });

  it('U6 cuts an engine whose 100 has no end', async () => {
    world.engine.play(({ socket }) => {
      socket.write('HTTP/1.1 100 Continue\r\n');
      for (let i = 0; i < 10_000; i++) socket.write(`x-${String(i)}: ${'y'.repeat(100)}\r\n`);
    });
    expectProblem(await world.send(chatRequest()), 502);
    await (
      await world.engine.request(0)
    ).left;
  });

  it('U6 answers 504 where nothing comes behind a 100', async () => {
    world.engine.play(write(CONTINUE));
    expectProblem(await world.send(chatRequest()), 504);
    await world.expectNextServed();
  });

  it.each([400, 404, 409, 413, 422, 429, 500, 503])(
    'U7 hands on the status and message of a %d, once',
    async (status) => {
      const body = JSON.stringify({
        error: { message: 'what the engine said', type: 'engine_error', param: null, code: null },
      });
      world.engine.play(
        write(jsonAnswer(body, `${String(status)} Told`, ['retry-after: 7', 'set-cookie: a=b', 'server: engine/1'])),
      );
      const answer = await world.send(chatRequest());
      expect([answer.status, answer.text()]).toEqual([status, body]);
      expect(answer.header('retry-after')).toBe('7');
      expect([answer.header('set-cookie'), answer.header('server')]).toEqual([undefined, undefined]);
      expect(world.engine.requests).toHaveLength(1);
    },
  );

  it.each([401, 403, 407])('U8 answers 502 to a %d of the engine, without its challenge', async (status) => {
    for (const request of [chatRequest(), streamRequest(), plainRequest()]) {
      world.engine.play(
        write(
          jsonAnswer('{"error":{"message":"secret key sk-1"}}', `${String(status)} No`, [
            'www-authenticate: Basic realm="engine"',
          ]),
        ),
      );
      const answer = await world.send(request);
      expectProblem(answer, 502, 'upstream-refused-us');
      expect(answer.header('www-authenticate')).toBeUndefined();
      expect(answer.text()).not.toContain('sk-1');
    }
  });

  it('U8 hands a 401 on where the caller has credentials of its own, without the challenge', async () => {
    world.engine.play(write(jsonAnswer('{}', '401 No', ['www-authenticate: Basic realm="engine"'])));
    const answer = await world.send(plainRequest('GET', '/forwarding/x'));
    expect([answer.status, answer.header('www-authenticate')]).toEqual([401, undefined]);
  });

  it.each([300, 301, 302, 303, 307, 308])(
    'U9 answers 502 to a %d, follows it nowhere and hands it out to nobody',
    async (status) => {
      const asked = other.requests.length;
      for (const request of [chatRequest(), plainRequest()]) {
        world.engine.play(
          write(jsonAnswer('{}', `${String(status)} Moved`, [`location: ${other.url}/v1/chat/completions`])),
        );
        const answer = await world.send(request);
        expectProblem(answer, 502, 'upstream-refused-us');
        expect(answer.header('location')).toBeUndefined();
      }
      expect(other.requests).toHaveLength(asked);
    },
  );

  it.each([
    ['204', 'GET', head('HTTP/1.1 204 No Content', 'content-length: 5') + 'hello', 204],
    ['304', 'GET', head('HTTP/1.1 304 Not Modified', 'content-length: 5', 'etag: "a"') + 'hello', 304],
    [
      '204 in chunks',
      'GET',
      head('HTTP/1.1 204 No Content', 'transfer-encoding: chunked') + chunk('hello') + LAST_CHUNK,
      204,
    ],
    [
      'an answer to HEAD',
      'HEAD',
      head('HTTP/1.1 200 OK', 'content-length: 5', 'connection: keep-alive') + 'hello',
      200,
    ],
    ['an honest answer to HEAD', 'HEAD', head('HTTP/1.1 200 OK', 'content-length: 5'), 200],
  ])('U10 lets no body of %s reach the client, and keeps its connection in step', async (_, method, bytes, status) => {
    world.engine.play(write(bytes));
    const client = await world.ask(plainRequest(method));
    const first = await client.response({ method });
    expect([first.status, first.text(), first.end]).toEqual([status, '', 'clean']);
    if (status === 204) expect(first.header('content-length')).toBeUndefined();
    world.engine.play(write(jsonAnswer()));
    client.send('GET /plain/next HTTP/1.1\r\nhost: a\r\n\r\n');
    const next = await client.response();
    expect([next.status, next.text()]).toEqual([200, CHAT_ANSWER]);
    client.destroy();
  });

  it('U10 answers 502 to an API call that gets no body', async () => {
    for (const status of ['204 No Content', '205 Reset Content', '304 Not Modified']) {
      world.engine.play(write(head(`HTTP/1.1 ${status}`)));
      expectProblem(await world.send(chatRequest()), 502);
    }
  });

  describe.each([
    ['and closes', (socket: TcpRequest['socket'], bytes: string) => socket.end(bytes)],
    ['and keeps the connection', (socket: TcpRequest['socket'], bytes: string) => socket.write(bytes)],
  ])('U11 an engine that answers before it has read the request %s', (_, answer) => {
    it.each([413, 429, 503])('is heard with its %d, and its connection not used again', async (status) => {
      const body = '{"error":{"message":"too much","type":"engine_error","param":null,"code":null}}';
      world.engine.play(
        ({ socket }) => {
          socket.pause();
          answer(socket, jsonAnswer(body, `${String(status)} Early`));
        },
        { answersHead: true },
      );
      const upload: RequestParts = { method: 'POST', path: '/plain/upload', body: Buffer.alloc(7 * 1024 * 1024, 'x') };
      const client = await world.ask(upload);
      const heard = await client.response();
      expect([heard.status, heard.text()]).toEqual([status, body]);
      client.destroy();
      const { connection } = await world.engine.request(0);
      await world.expectNextServed();
      expect(world.engine.requests[0]?.connection).not.toBe(connection);
    });
  });
});
