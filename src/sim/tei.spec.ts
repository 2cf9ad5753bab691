import OpenAI from 'openai';
import { startTei, type TeiOptions } from './tei.js';
import type { SimServer } from './wire/sim-app.js';

const servers: SimServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function tei(options: Partial<TeiOptions> = {}): Promise<SimServer> {
  const server = await startTei({ model: 'some/model', kind: 'embedding', ...options });
  servers.push(server);
  return server;
}

const post = (server: SimServer, path: string, body: unknown): Promise<Response> =>
  fetch(server.url + path, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) });

interface Rank {
  readonly index: number;
  readonly score: number;
}

const ranksOf = async (response: Response): Promise<readonly Rank[]> => JSON.parse(await response.text()) as Rank[];

describe('tei: embeddings', () => {
  it('gives the same unit vector for the same text, as floats and as base64', async () => {
    const server = await tei({ dimensions: 16 });
    const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const input = ['salt', 'foam', 'salt'];
    // Without a format the client asks for base64 and decodes it.
    const decoded = await openai.embeddings.create({ model: 'some/model', input });
    const floats = await openai.embeddings.create({ model: 'some/model', input, encoding_format: 'float' });
    const vectors = floats.data.map(({ embedding }) => embedding);
    expect(decoded.data.map(({ embedding }) => embedding)).toEqual(vectors);
    expect(vectors[0]).toHaveLength(16);
    expect(vectors[2]).toEqual(vectors[0]);
    expect(vectors[1]).not.toEqual(vectors[0]);
    expect(Math.hypot(...(vectors[0] ?? []))).toBeCloseTo(1, 5);
    expect(floats.usage).toEqual({ prompt_tokens: 3, total_tokens: 3 });
    expect(
      server.requests.map(({ body }) => (JSON.parse(body.toString()) as { encoding_format: string }).encoding_format),
    ).toEqual(['base64', 'float']);
  });

  it('speaks its own way as well', async () => {
    const answer = await post(await tei({ dimensions: 4 }), '/embed', { inputs: 'salt' });
    expect(await answer.json()).toEqual([
      [expect.any(Number), expect.any(Number), expect.any(Number), expect.any(Number)],
    ]);
  });

  it('is no re-ranker', async () => {
    const answer = await post(await tei(), '/rerank', { query: 'a', texts: ['b'] });
    expect([answer.status, await answer.json()]).toEqual([
      424,
      { error: 'model is not a re-ranker model', error_type: 'Backend' },
    ]);
  });

  it('turns away at once what its semaphore has no room for', async () => {
    const server = await tei({ maxConcurrentRequests: 2 });
    const full = await post(server, '/v1/embeddings', { input: ['a', 'b', 'c'] });
    expect([full.status, await full.json()]).toEqual([
      429,
      { message: 'Model is overloaded', code: 429, type: 'overloaded' },
    ]);
    const page = await (await fetch(`${server.url}/metrics`)).text();
    expect(page).toContain('te_request_failure{err="overloaded"} 1\n');
  });

  it.each([
    ['/v1/embeddings', { input: Array(33).fill('a') }, 413, 'batch size 33 > maximum allowed batch size 32'],
    ['/embed', { inputs: '' }, 400, 'cannot be empty'],
    ['/embed', {}, 422, 'missing field `inputs`'],
    ['/embed', '{', 400, 'Failed to parse the request body as JSON'],
  ])('refuses at %s %p', async (path, body, status, text) => {
    const answer = await post(await tei(), path, body);
    expect(answer.status).toBe(status);
    expect(await answer.text()).toContain(text);
  });
});

describe('tei: re-ranking', () => {
  const ask = { query: 'salt in the sea', texts: ['a loaf of bread', 'the sea has salt in it', 'the hills'] };

  it('sorts by score, with the place that each text had', async () => {
    const ranks = await ranksOf(await post(await tei({ kind: 'reranker' }), '/rerank', { ...ask, return_text: true }));
    expect(ranks[0]).toEqual({ index: 1, text: 'the sea has salt in it', score: expect.any(Number) });
    const scores = ranks.map(({ score }) => score);
    expect(scores).toEqual(scores.toSorted((one, other) => other - one));
    expect(scores.every((score) => score > 0 && score < 1)).toBe(true);
  });

  it('gives raw scores on demand, and no texts unless asked', async () => {
    const ranks = await ranksOf(await post(await tei({ kind: 'reranker' }), '/rerank', { ...ask, raw_scores: true }));
    expect(ranks[0]?.score).toBeGreaterThan(1);
    expect(ranks[0]).not.toHaveProperty('text');
  });

  it('does not know `documents`', async () => {
    const answer = await post(await tei({ kind: 'reranker' }), '/rerank', { query: 'a', documents: ['b'] });
    expect([answer.status, await answer.text()]).toEqual([422, expect.stringContaining('missing field `texts`')]);
  });
});

describe('tei: the rest', () => {
  it('says what it is, that it is well, and counts', async () => {
    const server = await tei({ kind: 'reranker' });
    await (await post(server, '/rerank', { query: 'a', texts: ['b'] })).json();
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    const info = await (await fetch(`${server.url}/info`)).json();
    expect(info).toMatchObject({ model_id: 'some/model', max_concurrent_requests: 512, model_type: { reranker: {} } });
    const page = await (await fetch(`${server.url}/metrics`)).text();
    expect(page).toContain('te_queue_size 0\n');
    expect(page).toContain('te_request_success{method="single"} 1\n');
    expect((await fetch(`${server.url}/rerank`)).status).toBe(405);
    expect((await fetch(`${server.url}/v1/models`)).status).toBe(404);
  });
});
