import { Test, type TestingModule } from '@nestjs/testing';
import { OperatorLog } from '../../src/common/operator-log.js';
import { GatewayConfigModule } from '../../src/modules/config/config.module.js';
import { parseConfig } from '../../src/modules/config/load-config.js';
import type { Endpoint } from '../../src/modules/engine-observer/endpoint.js';
import { EngineObserverModule } from '../../src/modules/engine-observer/engine-observer.module.js';
import { EngineRegistry } from '../../src/modules/engine-observer/engine-registry.js';
import { WorkerLink } from '../../src/modules/workers/worker-link.js';
import { FAST } from '../../src/sim/core/profiles.js';
import { startVllm, type VllmServer } from '../../src/sim/vllm.js';
import { gatewayYaml } from '../support/gateway-config.js';

const observe = {
  path: '/metrics',
  interval: '100ms',
  timeout: '90ms',
  staleAfter: 3,
  kvCeiling: 0.9,
  maxInflight: 4,
  maxPark: '10s',
};

const ignore = (): void => undefined;

class LogModule {
  readonly name = 'log';
}

let engine: VllmServer;
let app: TestingModule;
beforeEach(async () => {
  engine = await startVllm({ models: ['reasoning'], profile: FAST });
  const upstreams = [
    { name: 'reasoning', url: engine.url, engine: 'vllm' as const, more: { observe } },
    {
      name: 'by-name',
      url: `http://localhost:${engine.port}`,
      engine: 'vllm' as const,
      more: { discover: 'dns', observe },
    },
    { name: 'blind', url: engine.url, engine: 'vllm' as const },
  ];
  const models = [{ id: 'reasoning', upstream: 'reasoning', operations: ['chat' as const] }];
  const { config } = parseConfig(gatewayYaml({ upstreams, models }), 'gateway.yaml', {});
  const silent = { provide: OperatorLog, useValue: { info: ignore, warn: ignore, error: ignore } };
  const alone = { provide: WorkerLink, useValue: new WorkerLink() };
  const log = { module: LogModule, global: true, providers: [silent, alone], exports: [OperatorLog, WorkerLink] };
  app = await Test.createTestingModule({
    imports: [GatewayConfigModule.forConfig(config), log, EngineObserverModule],
  }).compile();
});
afterEach(async () => {
  await engine.close();
  await app.close();
});

function endpointOf(upstream: string): Endpoint {
  const [endpoint] = app.get(EngineRegistry).endpoints(upstream);
  if (endpoint === undefined) throw new Error(`${upstream} has no endpoint`);
  return endpoint;
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('engine-observer in the house', () => {
  it('polls from the start of the application to its end, and only what is to be observed', async () => {
    expect(engine.stats().polls).toBe(0);
    await app.init();
    await until(() => endpointOf('reasoning').snapshot !== undefined && endpointOf('by-name').snapshot !== undefined);
    expect(endpointOf('reasoning').snapshot).toMatchObject({ running: 0, waiting: 0, kvUsage: 0 });
    expect(endpointOf('by-name')).toMatchObject({
      id: `127.0.0.1:${engine.port}`,
      authority: `localhost:${engine.port}`,
    });
    expect(endpointOf('blind')).toMatchObject({ state: 'unobserved', snapshot: undefined });

    await app.close();
    const { polls } = engine.stats();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(engine.stats().polls).toBe(polls);
  });
});
