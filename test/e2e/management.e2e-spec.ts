import { parseSamples } from '../support/metric-samples.js';
import { RawConnection, requestBytes } from '../support/raw-client.js';
import { startGateway, type RunningGateway } from '../support/start-gateway.js';

const READ = { method: 'GET', path: '/metrics' };

/** The management port, and what it is asked for at once. */
describe.each([1, 2])('the management port of %i processes', (workers) => {
  let gateway: RunningGateway;

  beforeAll(async () => {
    gateway = await startGateway({
      upstreams: [{ name: 'engine', url: 'http://127.0.0.1:9', engine: 'vllm' }],
      models: [{ id: 'demo-chat', upstream: 'engine', operations: ['chat'] }],
      server: { workers },
    });
  }, 60_000);

  afterAll(() => gateway.stop());

  const port = (): number => Number(new URL(gateway.managementOrigin).port);

  it('answers requests that are sent ahead, each with a page of its own', async () => {
    const connection = await RawConnection.open(port());
    connection.send(Buffer.concat(Array.from({ length: 20 }, () => requestBytes(READ))));
    for (let i = 0; i < 20; i++) {
      const answer = await connection.response();
      expect([answer.status, answer.header('content-type')]).toEqual([200, expect.stringContaining('version=0.0.4')]);
      expect(parseSamples(answer.text()).length).toBeGreaterThan(20);
    }
    connection.destroy();
  });

  it('cuts a flood of them, and serves all others', async () => {
    const flood = await RawConnection.open(port());
    flood.send(Buffer.concat(Array.from({ length: 1600 }, () => requestBytes(READ))));
    await flood.closed;
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => fetch(`${gateway.managementOrigin}/metrics`).then((answer) => answer.text())),
    );
    for (const page of answers) expect(page).toContain('slots_in_use');
    expect((await fetch(`${gateway.origin}/healthz`)).status).toBe(200);
  });
});
