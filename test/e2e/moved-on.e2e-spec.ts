import { SLOTS } from '../../src/sim/core/profiles.js';
import { startVllm, type VllmServer } from '../../src/sim/vllm.js';
import { chatRequest } from '../support/chat-wire.js';
import { ENGINES_HOST, EngineNames } from '../support/load-names.js';
import { sendRaw } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';
import { startGateway, type RunningGateway } from '../support/start-gateway.js';

const SERVICE_MS = 800;

/** A request whose engine refuses the connection stands in line again for another one. */
describe('a request that was refused a connection', () => {
  const engines: VllmServer[] = [];
  let names: EngineNames;
  let gateway: RunningGateway;

  const engine = async (more: { host?: string; port?: number } = {}): Promise<VllmServer> => {
    const profile = { ...SLOTS, serviceMs: SERVICE_MS };
    const started = await startVllm({ models: ['demo-chat'], profile, reasons: false, ...more });
    engines.push(started);
    return started;
  };

  beforeAll(async () => {
    const busy = await engine();
    const { port } = busy;
    const refusing = await engine({ host: '127.0.0.2', port });
    names = await EngineNames.start([busy.host, refusing.host]);
    const slots = { limit: 2, perEndpoint: 1 };
    const url = `http://${ENGINES_HOST}:${String(port)}`;
    gateway = await startGateway(
      {
        upstreams: [{ name: 'engine', url, engine: 'vllm', slots, more: { discover: 'dns' } }],
        models: [{ id: 'demo-chat', upstream: 'engine', operations: ['chat'] }],
      },
      names.how,
    );
    await refusing.refuse();
  }, 60_000);

  afterAll(async () => {
    await gateway.stop();
    await Promise.all(engines.map((one) => one.close()));
    await names.stop();
  });

  it('is told, and counted, as one that had to wait for the other', async () => {
    const send = () => sendRaw(gateway.port, chatRequest({ sim: { output_tokens: 2 } }));
    const first = send();
    await eventually(() => engines[0]?.stats().running === 1);
    const second = await send();
    expect([(await first).status, second.status]).toEqual([200, 200]);
    const waitedMs = Number(second.header('x-llmgw-queue-ms'));
    expect(waitedMs).toBeGreaterThan(SERVICE_MS / 4);
    const line = () => gateway.logs().find((each) => each['request_id'] === second.header('x-request-id'));
    await eventually(() => line() !== undefined);
    expect(Math.round(Number(line()?.['queue_ms']))).toBe(waitedMs);
    expect(await gateway.metric('admission_parked_total')).toBe(1);
    expect(await gateway.metric('upstream_requests_total', { outcome: 'refused' })).toBe(1);
    expect(await gateway.metric('admission_wait_seconds_sum')).toBeCloseTo(waitedMs / 1000, 1);
    expect(await gateway.metric('gateway_overhead_seconds_sum')).toBeLessThan(SERVICE_MS / 4000);
  });
});
