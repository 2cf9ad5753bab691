import { setTimeout as delay } from 'node:timers/promises';
import { startOllama } from '../../src/sim/ollama.js';
import { startTei } from '../../src/sim/tei.js';
import { startVllm, type VllmServer } from '../../src/sim/vllm.js';
import type { SimServer } from '../../src/sim/wire/sim-app.js';
import { Crowd, LoadClient, repeated, type LoadOrder } from './load-client.js';
import { ENGINES_HOST, EngineNames } from './load-names.js';
import { sendRaw, type RawResponse } from './raw-client.js';
import { startGateway, type Exit, type RunningGateway, type StartOptions } from './start-gateway.js';

const TIME_SCALE = 4;
const BANDS = [
  { name: 'platinum', ceiling: 1, capacity: 8, ttl: '120s' },
  { name: 'gold', ceiling: 0.9, capacity: 16, ttl: '300s' },
  { name: 'bronze', ceiling: 0.75, capacity: 12, ttl: '600s' },
];
const OBSERVE = {
  path: '/metrics',
  interval: '500ms',
  timeout: '250ms',
  staleAfter: 2,
  kvCeiling: 0.9,
  maxInflight: 4,
  maxPark: '120s',
};

/** A house worth looking at: two engines that prefill behind one name, two that are asked little, and nobody's traffic yet. */
export class OperatorWorld {
  private constructor(
    readonly engines: readonly VllmServer[],
    private readonly others: readonly SimServer[],
    private readonly names: EngineNames,
    private running: RunningGateway,
    private readonly config: Parameters<typeof startGateway>[0],
  ) {}

  static async start(): Promise<OperatorWorld> {
    const engine = (host: string, port: number): Promise<VllmServer> =>
      startVllm({ models: ['reasoning'], timeScale: TIME_SCALE, host, port });
    const first = await engine('127.0.0.1', 0);
    const engines = [first, await engine('127.0.0.2', first.port)];
    const others = [
      await startOllama({ models: ['ornith:35b'], timeScale: TIME_SCALE }),
      await startTei({ model: 'bge-small', kind: 'embedding' }),
    ];
    const names = await EngineNames.start(engines.map(({ host }) => host));
    const config = configFor(first.port, others);
    const gateway = await startGateway(config, names.how);
    return new OperatorWorld(engines, others, names, gateway, config);
  }

  get gateway(): RunningGateway {
    return this.running;
  }

  /** The page's address. */
  get address(): string {
    return `${this.gateway.managementOrigin}/`;
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    await Promise.all([...this.engines, ...this.others].map((engine) => engine.close()));
    await this.names.stop();
  }

  /** Another gateway in the place of this one, on the same ports; how this one ended. */
  async restart(between: () => Promise<void>): Promise<Exit> {
    const listen = new URL(this.gateway.origin).host;
    const management = new URL(this.gateway.managementOrigin).host;
    const exit = await this.gateway.stop();
    await between();
    if (typeof this.config === 'string') throw new Error('the world has options');
    const server = { ...this.config.server, listen, management };
    this.running = await startGateway({ ...this.config, server }, this.how);
    return exit;
  }

  private get how(): StartOptions {
    return this.names.how;
  }

  /** Callers of three bands, more than there are places for. */
  crowd(): Crowd {
    return new Crowd(this.gateway.port, ORDERS).start(60);
  }

  /** One chat request with a name of its own; settles with its answer. */
  chat(requestId: string, fields: Readonly<Record<string, string>> = {}, members: object = {}): Promise<RawResponse> {
    const messages = [{ role: 'user', content: 'Why is the sky blue?' }];
    return sendRaw(this.gateway.port, {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { 'content-type': 'application/json', 'x-request-id': requestId, ...fields },
      body: JSON.stringify({ model: 'reasoning', messages, max_tokens: 40, ...members }),
    });
  }

  /** Requests that are turned away, each for another reason. */
  async turnSomeAway(): Promise<void> {
    await this.chat('no-such-model', {}, { model: 'gpt-9' });
    await this.chat('no-messages', {}, { messages: 'none' });
    const order = { tenant: 'crawler', band: 'bronze', members: chat(50, 20) };
    const storm = repeated(24, () => new LoadClient(this.gateway.port, order));
    const answers = storm.map((client) => client.ask().catch(() => undefined));
    await delay(400);
    for (const client of storm) client.stop();
    await Promise.all(answers);
  }
}

const PROSE = 'wave after wave ';
const chat = (tokens: number, answer: number) => (call: number) => ({
  model: 'reasoning',
  max_tokens: answer,
  ignore_eos: true,
  messages: [{ role: 'user', content: `${String(call)} ${PROSE.repeat(Math.ceil((tokens * 4) / PROSE.length))}` }],
});

const ORDERS: readonly LoadOrder[] = [
  { tenant: 'console', band: 'platinum', members: chat(200, 150) },
  ...repeated(4, (at) => ({ tenant: ['acme', 'bolt'][at % 2] ?? '', band: 'gold', members: chat(600, 240) })),
  { tenant: 'acme', band: 'gold', members: chat(6000, 200) },
  ...repeated(8, (at) => ({
    tenant: ['nightly', 'crawler', 'eval'][at % 3] ?? '',
    band: 'bronze',
    members: chat(900, 300),
  })),
  { tenant: 'console', band: 'gold', members: (call: number) => ({ ...chat(100, 120)(call), model: 'ornith:35b' }) },
];

const configFor = (port: number, [ollama, tei]: readonly SimServer[]) => ({
  upstreams: [
    {
      ...{ name: 'reasoning', url: `http://${ENGINES_HOST}:${String(port)}`, engine: 'vllm' as const },
      slots: { limit: 7, perEndpoint: 4 },
      more: { discover: 'dns', observe: OBSERVE },
    },
    { name: 'ornith', url: ollama?.url ?? '', engine: 'ollama' as const, slots: { limit: 4, perEndpoint: 4 } },
    { name: 'embeddings', url: tei?.url ?? '', engine: 'tei' as const, slots: { limit: 32, perEndpoint: 32 } },
  ],
  models: [
    { id: 'reasoning', upstream: 'reasoning', operations: ['chat' as const] },
    { id: 'ornith:35b', upstream: 'ornith', operations: ['chat' as const] },
    { id: 'bge-small', upstream: 'embeddings', operations: ['embeddings' as const] },
  ],
  operations: { chat: { timeouts: { connect: '2s', read: '60s', write: '60s' } } },
  auth: { bandHeaderTrust: 'any' },
  admission: { heartbeat: '15s', bands: BANDS },
  server: { drainTimeout: '300ms' },
});
