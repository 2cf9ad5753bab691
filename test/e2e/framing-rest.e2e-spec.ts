import { setTimeout as delay } from 'node:timers/promises';
import {
  CHAT,
  chatBody,
  chatRequest,
  closedInTime,
  contentOf,
  EdgeWorld,
  expectProblem,
} from '../support/edge-world.js';
import { type RawConnection, requestBytes } from '../support/raw-client.js';

const HOST = 'Host: gateway.test';
const JSON_TYPE = 'Content-Type: application/json';
const BODY = chatBody('first');
const SMUGGLED = requestBytes(chatRequest('smuggled')).toString('latin1');
const DONE = 'data: [DONE]\n\n';
const STREAM_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';

const message = (...lines: string[]): string => [...lines, '', ''].join('\r\n');
const sized = (text: string): string => `Content-Length: ${String(Buffer.byteLength(text))}`;
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const event = (content: string): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'demo-chat', choices: [{ index: 0, delta: { role: 'assistant', content } }] })}\n\n`;

describe('what lies around a message', () => {
  let world: EdgeWorld;
  let connection: RawConnection;

  beforeAll(async () => {
    world = await EdgeWorld.start();
  }, 60_000);

  afterAll(() => world.stop());

  beforeEach(async () => {
    world.upstream.requests = [];
    connection = await world.connect();
  });

  afterEach(() => connection.destroy());

  const bodiesUpstream = (): string[] => world.upstream.requests.map(({ body }) => body.toString());

  describe('F9: a body where none is taken', () => {
    it.each([
      ['the health check', 'GET', '/healthz', 200],
      ['the list of models', 'GET', '/v1/models', 200],
      ['a model', 'GET', '/v1/models/demo-chat', 200],
      ['a wrong method', 'GET', CHAT, 405],
      ['an unknown path', 'POST', '/nowhere', 404],
      ['an unknown method', 'PROPFIND', '/v1/models', 501],
    ])('of %s is never read as a request', async (_, method, path, status) => {
      for (const framing of [sized(SMUGGLED), 'Transfer-Encoding: chunked']) {
        const body = framing.startsWith('C') ? SMUGGLED : `${chunk(SMUGGLED)}0\r\n\r\n`;
        const response = await world.refusal(message(`${method} ${path} HTTP/1.1`, HOST, framing) + body, method);
        expect(response.status).toBe(status);
        expect(response.header('connection')).toBe('close');
        expect(world.upstream.requests).toHaveLength(0);
      }
    });

    it('of a GET on a prefix goes up with its own length, or not at all', async () => {
      const response = await world.ask({ method: 'GET', path: '/plain/x', body: SMUGGLED });
      expect(response.status).toBe(200);
      const { lastRequest } = world.upstream;
      expect(world.upstream.requests).toHaveLength(1);
      expect(lastRequest.body.toString('latin1')).toBe(
        lastRequest.field('content-length') === undefined ? '' : SMUGGLED,
      );
    });

    it('announced but never sent is not announced upstream', async () => {
      connection.send(message('GET /plain/x HTTP/1.1', HOST, 'Content-Length: 40'));
      await delay(100);
      connection.destroy();
      expect(await world.canary('next')).toBe('mark-next');
      expect(world.upstream.requests.map(({ target }) => target)).toEqual([CHAT]);
    });
  });

  describe('F10: trailers', () => {
    it.each([
      ['Content-Length: 3'],
      ['Transfer-Encoding: chunked'],
      ['Host: evil.test'],
      ['Authorization: Bearer evil'],
      ['Set-Cookie: evil=1'],
      ['X-Custom: evil'],
    ])('%s is no header for anybody', async (trailer) => {
      for (const path of [CHAT, '/plain/x']) {
        connection.destroy();
        connection = await world.connect();
        const head = message(
          `POST ${path} HTTP/1.1`,
          HOST,
          JSON_TYPE,
          'Trailer: X-Custom',
          'Transfer-Encoding: chunked',
        );
        connection.send(`${head}${chunk(BODY)}0\r\n${trailer}\r\n\r\n`);
        const response = await connection.response();
        if (response.status !== 200) expectProblem(response, 400);
        else expect(contentOf(response)).toBe('mark-first');
        expect(JSON.stringify(response.headers)).not.toContain('evil');
      }
      for (const { fields, field, body } of world.upstream.requests) {
        expect(JSON.stringify(fields)).not.toContain('evil');
        expect(field('trailer')).toBeUndefined();
        expect(field('content-length')).toBe(String(body.length));
      }
    });

    it('of an ordinary name do not stop the request', async () => {
      const head = message(`POST ${CHAT} HTTP/1.1`, HOST, JSON_TYPE, 'Transfer-Encoding: chunked');
      connection.send(`${head}${chunk(BODY)}0\r\nX-Checksum: 1\r\n\r\n`);
      expect(contentOf(await connection.response())).toBe('mark-first');
      expect(bodiesUpstream()).toEqual([BODY]);
    });
  });

  describe('F12: bytes behind a request that is being answered', () => {
    /** Says the garbage while the stream runs; settles with what the client heard of it until the connection closed. */
    const running = async (request: string, garbage: string): Promise<{ wire: string; text: string }> => {
      let go = (): void => undefined;
      const { answer } = world.upstream;
      world.upstream.answer = (_, socket) => {
        go = () => socket.write(`${chunk(event('two'))}${chunk(DONE)}0\r\n\r\n`);
        return STREAM_HEAD + chunk(event('one'));
      };
      const wire: Buffer[] = [];
      connection.socket.on('data', (bytes: Buffer) => wire.push(bytes));
      const { promise: begun, resolve } = Promise.withResolvers<undefined>();
      const response = connection.response({ onBody: () => resolve(undefined) });
      connection.send(request);
      await begun;
      connection.send(garbage);
      await delay(100);
      go();
      await closedInTime(connection);
      world.upstream.answer = answer;
      return { wire: Buffer.concat(wire).toString('latin1'), text: (await response).text() };
    };

    const body = chatBody('stream', { stream: true });
    const stream = message(`POST ${CHAT} HTTP/1.1`, HOST, JSON_TYPE, sized(body)) + body;
    const last = message(`POST ${CHAT} HTTP/1.1`, HOST, JSON_TYPE, 'Connection: close', sized(body)) + body;

    it.each([
      ['garbage', stream, '\x01\x02garbage\r\n\r\n'],
      [
        'a request with two framings',
        stream,
        message(`POST ${CHAT} HTTP/1.1`, HOST, sized(BODY), 'Transfer-Encoding: chunked'),
      ],
      ['a head that is too large', stream, `GET /healthz HTTP/1.1\r\nX-A: ${'a'.repeat(20_000)}`],
      ['CONNECT', stream, message('CONNECT evil.test:443 HTTP/1.1', 'Host: evil.test:443')],
      ['a WebSocket', stream, message('GET /plain/x HTTP/1.1', HOST, 'Connection: Upgrade', 'Upgrade: websocket')],
      ['anything behind the last request', last, '\x01\x02garbage'],
    ])('add nothing to the answer: %s', async (what, request, garbage) => {
      const { wire, text } = await running(request, garbage);
      const whole = event('one') + event('two') + DONE;
      expect(wire.match(/HTTP\/1\.1/g)).toHaveLength(1);
      expect(whole.slice(0, text.length)).toBe(text);
      // Where Node hands the socket over to another protocol, the answer is cut.
      if (!/CONNECT|WebSocket/.test(what)) expect(text).toBe(whole);
      expect(world.upstream.requests).toHaveLength(1);
      expect(await world.canary('next')).toBe('mark-next');
      expect(await world.slotsInUse()).toBe(0);
    });

    it.each([
      ['a length that is too short', BODY.slice(0, -1), '}', 400],
      ['a length that is too short, head first', '', BODY, 400],
      ['a brace too many', BODY, '}', 200],
      ['a brace too many, in the same packet', `${BODY}}`, '', 200],
    ])('leave its answer as it is: %s', async (what, first, second, status) => {
      const declared = status === 200 ? BODY.length : BODY.length - 1;
      const head = message(`POST ${CHAT} HTTP/1.1`, HOST, JSON_TYPE, `Content-Length: ${String(declared)}`);
      for (const target of [CHAT, `${CHAT}?by=framework`]) {
        const asking = await world.connect();
        asking.send(head.replace(CHAT, target) + first);
        await delay(20);
        if (second !== '') asking.send(second);
        const answer = await asking.response({ method: 'POST' });
        expect([what, answer.status]).toEqual([what, status]);
        await closedInTime(asking);
        asking.destroy();
      }
    });

    it('do not let a flood of requests pile up behind it', async () => {
      const { answer } = world.upstream;
      world.upstream.answer = () => undefined;
      connection.send(stream);
      connection.send('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(1_000));
      await closedInTime(connection);
      world.upstream.answer = answer;
      expect(await world.canary('next')).toBe('mark-next');
      expect(await world.slotsInUse()).toBe(0);
    });
  });

  it('F14: every request upstream has one framing, whatever framing it came with', async () => {
    const chunked = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
    await world.post(BODY);
    await world.post(`${chunk(BODY.slice(0, 9))}${chunk(BODY.slice(9))}0\r\n\r\n`, CHAT, chunked);
    await world.post(`5;ext="a"\r\nhello\r\n0\r\n\r\n`, '/plain/x', chunked);
    await world.post('', '/plain/x');
    for (const method of ['GET', 'POST', 'PUT', 'DELETE']) await world.ask({ method, path: '/plain/x' });
    await world.ask({ method: 'DELETE', path: '/plain/x', body: 'gone' });
    expect(bodiesUpstream()).toEqual([BODY, BODY, 'hello', '', '', '', '', '', 'gone']);
    for (const { method, field, body } of world.upstream.requests) {
      const length = field('content-length');
      expect(length ?? '0').toBe(String(body.length));
      if (method === 'POST' || method === 'PUT') expect(length).toBeDefined();
      expect(field('transfer-encoding')).toBeUndefined();
    }
  });
});
