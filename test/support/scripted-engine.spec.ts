import { jsonOf, ScriptedEngine } from './scripted-engine.js';
import { RawConnection, requestBytes, sendRaw, type RawResponse } from './raw-client.js';

let engine: ScriptedEngine;

beforeEach(async () => {
  engine = await ScriptedEngine.start();
});

afterEach(() => engine.stop());

const portOf = (each: ScriptedEngine): number => Number(new URL(each.url).port);

const post = (path = '/v1/chat/completions', body = '{"a":1}'): Promise<RawResponse> =>
  sendRaw(portOf(engine), { method: 'POST', path, headers: { 'X-Case': 'Kept' }, body });

describe('ScriptedEngine', () => {
  it('answers with JSON and remembers the request', async () => {
    await engine.play({ status: 429, headers: { 'retry-after': '7' }, body: { b: 2 } });
    const response = await post('/v1/x?y=1');
    expect(response).toMatchObject({ status: 429, end: 'clean' });
    expect([response.json(), response.header('retry-after')]).toEqual([{ b: 2 }, '7']);
    expect(engine.lastRequest).toMatchObject({ method: 'POST', path: '/v1/x?y=1', aborted: false });
    expect(engine.lastRequest?.rawHeaders).toContain('X-Case');
    expect(jsonOf(engine.lastRequest)).toEqual({ a: 1 });
  });

  it('answers with text as it stands', async () => {
    await engine.play({ rawBody: '404 page not found', status: 404, headers: { 'content-type': 'text/plain' } });
    const response = await post();
    expect([response.text(), response.header('content-type')]).toEqual(['404 page not found', 'text/plain']);
  });

  it('writes each event as one piece', async () => {
    await engine.play({ sse: ['data: 1\n\n', 'data: 2\n\n'] });
    const pieces: string[] = [];
    const connection = await RawConnection.open(portOf(engine));
    connection.send(requestBytes({ method: 'POST', path: '/v1/chat/completions', body: '{}' }));
    const response = await connection.response({ onBody: (bytes) => pieces.push(bytes.toString()) });
    connection.destroy();
    expect(pieces).toEqual(['data: 1\n\n', 'data: 2\n\n']);
    expect([response.end, response.header('content-type')]).toEqual(['clean', 'text/event-stream']);
  });

  it('plays steps, to an end or to a reset', async () => {
    await engine.play({ script: [{ write: 'a' }, { delayMs: 5 }, { writeBase64: 'Yg==' }] });
    expect(await post()).toMatchObject({ end: 'clean', body: Buffer.from('ab') });
    await engine.play({ script: [{ write: 'a' }, { reset: true }] });
    expect(await post()).toMatchObject({ end: 'cut', body: Buffer.from('a') });
  });

  it('breaks down before its head where the first step says so', async () => {
    await engine.play({ script: [{ reset: true }] });
    await expect(post()).rejects.toThrow('without a response');
  });

  it('refuses connections, and listens again on the same port', async () => {
    const url = engine.url;
    await engine.play({ refuse: true });
    await expect(post()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await engine.play({ body: {} });
    expect((await post()).status).toBe(200);
    expect(engine.url).toBe(url);
  });

  it('does not count what asks about the engine itself', async () => {
    await engine.play({ serves: ['m'], tokenize: { count: 3 }, body: { own: true } });
    const get = (path: string) => sendRaw(portOf(engine), { method: 'GET', path });
    expect((await get('/v1/models')).json()).toMatchObject({ data: [{ id: 'm' }] });
    expect((await get('/metrics')).json()).toEqual({});
    expect((await post('/tokenize')).json()).toEqual({ count: 3 });
    expect((await post('/api/show')).json()).toEqual({});
    expect([engine.requests.length, engine.asides.length]).toEqual([0, 4]);
    await engine.play({ body: {} });
    expect((await post('/tokenize')).status).toBe(404);
  });

  it('counts a request that must not come', async () => {
    await engine.play({ none: true });
    expect((await post()).status).toBe(500);
    expect(engine.requests).toHaveLength(1);
  });

  it('chooses the answer for each request', async () => {
    await engine.play((request, call) => ({ body: { call, asked: jsonOf(request) } }));
    await post();
    expect((await post()).json()).toEqual({ call: 1, asked: { a: 1 } });
  });

  it('sees that its client has left', async () => {
    await engine.play({ script: [{ write: 'data: 1\n\n' }, { delayMs: 60_000 }] });
    const connection = await RawConnection.open(portOf(engine));
    connection.send(requestBytes({ method: 'POST', path: '/v1/chat/completions', body: '{}' }));
    const response = await connection.response({
      onBody: () => {
        connection.destroy();
      },
    });
    expect(response.end).toBe('cut');
    expect(await engine.sawAbort()).toBe(true);
  });
});
