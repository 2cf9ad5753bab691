import request from 'supertest';
import { startGateway, type RunningGateway } from '../support/start-gateway.js';

/** Nothing listens at its engine: what is asked here does not depend on one. */
const NOTHING_BEHIND = {
  upstreams: [{ name: 'engine', url: 'http://127.0.0.1:9', engine: 'vllm' as const }],
  models: [{ id: 'demo/chat:1', upstream: 'engine', operations: ['chat' as const] }],
};

describe('health, with every engine down', () => {
  let gateway: RunningGateway;

  beforeAll(async () => {
    gateway = await startGateway(NOTHING_BEHIND);
  });
  afterAll(() => gateway.stop());

  it('lives', async () => {
    const answer = await request(gateway.origin).get('/healthz').expect(200).expect('content-type', /json/);
    expect(answer.body).toEqual({ status: 'ok' });
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(answer.headers).not.toHaveProperty('server');
    expect(answer.headers).not.toHaveProperty('x-powered-by');
  });

  it('is ready: other engines may still serve', async () => {
    const answer = await request(gateway.origin).get('/readyz').expect(200);
    expect(answer.body).toMatchObject({ status: 'ready' });
  });

  it('keeps the request id of a caller', async () => {
    await request(gateway.origin).get('/healthz').set('x-request-id', 'mine-1').expect('x-request-id', 'mine-1');
  });

  it('logs the trace that a caller names, and none where it names none', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await request(gateway.origin).get('/healthz').set('x-request-id', 'traced').set('traceparent', traceparent);
    await request(gateway.origin).get('/healthz').set('x-request-id', 'untraced').set('traceparent', 'nonsense');
    const lineOf = (id: string): object | undefined =>
      gateway.logs().find((line) => 'request_id' in line && line.request_id === id);
    for (let i = 0; i < 40 && lineOf('untraced') === undefined; i += 1) await new Promise((go) => setTimeout(go, 50));
    expect(lineOf('traced')).toMatchObject({ trace_id: '0af7651916cd43dd8448eb211c80319c' });
    expect(lineOf('untraced')).not.toHaveProperty('trace_id');
  });

  it('lists and shows its models, ids encoded or not', async () => {
    const list = await request(gateway.origin).get('/v1/models').expect(200);
    expect(list.body).toMatchObject({ object: 'list', data: [{ id: 'demo/chat:1', object: 'model' }] });
    for (const path of ['/v1/models/demo/chat:1', '/v1/models/demo%2Fchat%3A1']) {
      const one = await request(gateway.origin).get(path).expect(200);
      expect(one.body).toMatchObject({ id: 'demo/chat:1' });
    }
    await request(gateway.origin)
      .get('/v1/models/demo%252Fchat')
      .expect(404)
      .expect('content-type', 'application/problem+json');
  });

  it('shows its metrics on the management listener alone', async () => {
    await request(gateway.managementOrigin)
      .get('/metrics')
      .expect(200)
      .expect(/^# HELP /m);
    await request(gateway.origin).get('/metrics').expect(404);
  });
});
