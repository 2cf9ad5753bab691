import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { CHAT, chatBody, closedInTime, contentOf, EdgeWorld, expectProblem } from '../support/edge-world.js';
import { type RawConnection, requestBytes, type RequestParts } from '../support/raw-client.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const LIMIT = 64 * 1024;
const BODY = chatBody('first');

/** What is refused from the head, or from a whole body, and with which status. */
const REFUSED: readonly (readonly [status: number, what: string, request: RequestParts])[] = [
  [400, 'a broken body', { method: 'POST', path: CHAT, headers: JSON_TYPE, body: '{' }],
  [400, 'no model', { method: 'POST', path: CHAT, headers: JSON_TYPE, body: '{}' }],
  [400, 'an unknown model', { method: 'POST', path: CHAT, headers: JSON_TYPE, body: '{"model":"x"}' }],
  [400, 'a model that does not do it', { method: 'POST', path: '/v1/embeddings', headers: JSON_TYPE, body: BODY }],
  [400, 'a repeated field', { method: 'POST', path: CHAT, headers: [['expect', 'a'], ['expect', 'b']], body: BODY }],
  [400, 'a dot segment', { method: 'GET', path: '/v1/../v1/models' }],
  [404, 'an unknown path', { method: 'POST', path: '/v2', headers: JSON_TYPE, body: BODY }],
  [404, 'an unknown model by its path', { method: 'GET', path: '/v1/models/x' }],
  [404, 'a WebSocket where there is none', { method: 'GET', path: CHAT, headers: { connection: 'Upgrade', upgrade: 'websocket' } }],
  [405, 'a wrong method', { method: 'GET', path: CHAT }],
  [405, 'OPTIONS', { method: 'OPTIONS', path: CHAT, headers: { origin: 'https://page.test' } }],
  [413, 'a declared length over the cap', { method: 'POST', path: CHAT, headers: { ...JSON_TYPE, 'content-length': String(LIMIT + 1) } }],
  [413, 'a body over the cap', { method: 'POST', path: CHAT, headers: JSON_TYPE, body: 'x'.repeat(LIMIT + 1) }],
  [413, 'a prefix body over the cap', { method: 'POST', path: '/plain/x', headers: { 'content-length': '1048577' } }],
  [414, 'a long target', { method: 'GET', path: `/${'a'.repeat(8_192)}` }],
  [415, 'a wrong media type', { method: 'POST', path: CHAT, headers: { 'content-type': 'text/plain' }, body: BODY }],
  [415, 'a compressed body', { method: 'POST', path: '/plain/x', headers: { 'content-encoding': 'gzip' }, body: BODY }],
  [417, 'an expectation', { method: 'POST', path: CHAT, headers: { ...JSON_TYPE, expect: '200-ok' }, body: BODY }],
  [431, 'a large head', { method: 'GET', path: '/healthz', headers: { 'x-a': 'a'.repeat(17_000) } }],
  [501, 'an unknown method', { method: 'TRACE', path: CHAT }],
]; // prettier-ignore

describe('refusals', () => {
  let world: EdgeWorld;

  beforeAll(async () => {
    world = await EdgeWorld.start({
      models: [
        { id: 'demo-chat', upstream: 'engine', operations: ['chat'] },
        { id: 'demo-embed', upstream: 'engine', operations: ['embeddings'] },
      ],
      operations: { chat: { maxBody: `${String(LIMIT)}B` } },
    });
  }, 60_000);

  afterAll(() => world.stop());

  beforeEach(() => {
    world.upstream.requests = [];
  });

  it.each(REFUSED)('%i for %s: a problem in both dialects, no slot and no upstream', async (status, _, request) => {
    const { connections } = world.upstream;
    const answers = await Promise.all(Array.from({ length: 12 }, () => world.ask(request)));
    for (const response of answers) expectProblem(response, status);
    expect(new Set(answers.map((response) => response.header('x-request-id'))).size).toBe(12);
    expect(world.upstream.requests).toHaveLength(0);
    expect(world.upstream.connections).toBe(connections);
    expect(await world.slotsInUse()).toBe(0);
    expect(await world.gateway.metric('admission_queue_depth')).toBe(0);
  });

  it.each(REFUSED)('F8: after %i for %s the connection is closed, or in step', async (_, __, request) => {
    const connection = await world.connect();
    connection.send(requestBytes(request));
    const response = await connection.response({ method: request.method });
    if (response.header('connection') === 'close') {
      await closedInTime(connection);
      await expect(connection.response()).rejects.toThrow('without a response');
    } else {
      connection.send(requestBytes({ method: 'POST', path: CHAT, headers: JSON_TYPE, body: BODY }));
      expect(contentOf(await connection.response())).toBe('mark-first');
    }
    connection.destroy();
  });

  it('G7, H12: a head that goes on and on is answered whole, and only then cut', async () => {
    const connection = await world.connect();
    connection.send(`GET /healthz HTTP/1.1\r\nHost: a\r\nX-A: ${'a'.repeat(20_000)}`);
    await delay(50);
    for (let piece = 0; piece < 20; piece += 1) connection.send('a'.repeat(20_000));
    expectProblem(await connection.response(), 431);
    await closedInTime(connection);
  });

  it('F6: a body that breaks off into something else is answered while it is still being sent', async () => {
    const connection = await world.connect();
    connection.send(
      `POST ${CHAT} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"mod\r\n`,
    );
    await delay(50);
    connection.send('zz\r\n');
    for (let piece = 0; piece < 20; piece += 1) connection.send('a'.repeat(20_000));
    expectProblem(await connection.response(), 400);
    await closedInTime(connection);
    expect(await world.canary('next')).toBe('mark-next');
  });

  describe('C8: Expect', () => {
    const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
    let connection: RawConnection;
    let heard: string;

    beforeEach(async () => {
      connection = await world.connect();
      heard = '';
      connection.socket.on('data', (bytes: Buffer) => {
        heard += bytes.toString('latin1');
      });
    });

    afterEach(() => connection.destroy());

    const head = (path: string, ...lines: string[]): string =>
      [`POST ${path} HTTP/1.1`, 'Host: a', 'Expect: 100-continue', ...lines, '', ''].join('\r\n');
    const LENGTH = `Content-Length: ${String(BODY.length)}`;
    const TYPE = 'Content-Type: application/json';

    it.each([
      ['a length', CHAT, LENGTH, BODY],
      ['chunks', CHAT, 'Transfer-Encoding: chunked', `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`],
      ['a prefix', '/plain/x', LENGTH, BODY],
    ])('is met once everything is checked that can be: %s', async (_, path, framing, body) => {
      connection.send(head(path, TYPE, framing));
      await once(connection.socket, 'data');
      expect(heard).toBe(CONTINUE);
      expect(world.upstream.requests).toHaveLength(0);
      connection.send(body);
      expect(contentOf(await connection.response())).toBe('mark-first');
      expect(heard.match(/HTTP\/1\.1 \d/g)).toHaveLength(2);
      expect(world.upstream.lastRequest.field('expect')).toBeUndefined();
    });

    it.each([
      [413, 'a length over the cap', head(CHAT, TYPE, `Content-Length: ${String(LIMIT + 1)}`)],
      [415, 'a wrong media type', head(CHAT, 'Content-Type: text/plain', LENGTH)],
      [415, 'a compressed body', head(CHAT, TYPE, 'Content-Encoding: gzip', LENGTH)],
      [404, 'an unknown path', head('/v2', TYPE, LENGTH)],
      [405, 'a wrong method', head('/v1/models', TYPE, LENGTH)],
      [413, 'a length over the cap of a prefix', head('/plain/x', 'Content-Length: 1048577')],
      [405, 'a wrong method on a prefix', head('/plain/x', LENGTH).replace('POST', 'PATCH')],
      [400, 'a path that leaves its prefix', head('/plain/%2e%2e/x', LENGTH)],
      [400, 'two framings', head(CHAT, TYPE, LENGTH, 'Transfer-Encoding: chunked')],
      [417, 'another expectation', head(CHAT, TYPE, LENGTH).replace('100-continue', '200-ok')],
      [417, 'two expectations', head(CHAT, TYPE, LENGTH).replace('100-continue', '100-continue, 200-ok')],
    ])('is answered %i at once, without 100: %s', async (status, _, bytes) => {
      connection.send(bytes);
      expectProblem(await connection.response(), status);
      expect(heard.startsWith(`HTTP/1.1 ${String(status)} `)).toBe(true);
      await closedInTime(connection);
      expect(heard.match(/HTTP\/1\.1 \d/g)).toHaveLength(1);
      expect(world.upstream.requests).toHaveLength(0);
    });

    it('is not waited for by a client that sends at once', async () => {
      connection.send(head(CHAT, TYPE, LENGTH) + BODY);
      expect(contentOf(await connection.response())).toBe('mark-first');
    });

    it('means nothing in HTTP/1.0', async () => {
      connection.send(`${head(CHAT, TYPE, LENGTH).replace('HTTP/1.1', 'HTTP/1.0')}${BODY}`);
      expect(contentOf(await connection.response())).toBe('mark-first');
      expect(heard).not.toContain('100 Continue');
    });
  });
});
