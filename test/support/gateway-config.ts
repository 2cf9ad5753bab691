import { stringify } from 'yaml';
import { OPERATIONS, type Operation } from '../../src/common/canonical/canonical-request.js';
import type { JsonObject } from './json.js';

export type EngineKind = 'vllm' | 'sglang' | 'llamacpp' | 'ollama' | 'tei' | 'openai' | 'http';

/** An upstream of a test gateway; what is left out is generous and needs no discovery. */
export interface TestUpstream {
  readonly name: string;
  readonly url: string;
  readonly engine: EngineKind;
  readonly slots?: { readonly limit: number; readonly perEndpoint: number };
  /** Any other key of the section, and values that replace the ones chosen here. */
  readonly more?: JsonObject;
}

export interface TestModel {
  readonly id: string;
  readonly upstream: string;
  readonly operations: readonly Operation[];
  readonly contextLength?: number;
}

export interface TestAlias {
  readonly path: string;
  readonly operation: Operation;
  readonly model: string;
}

export interface TestProxy {
  readonly prefix: string;
  readonly upstream: string;
  readonly methods?: readonly string[];
  readonly websocket?: boolean;
  readonly more?: JsonObject;
}

/** What a test says about its gateway. A section given here is laid over the one that every test gateway has. */
export interface GatewayOptions {
  readonly upstreams: readonly TestUpstream[];
  readonly models?: readonly TestModel[];
  readonly aliases?: readonly TestAlias[];
  readonly proxies?: readonly TestProxy[];
  readonly operations?: Partial<Record<Operation, JsonObject>>;
  readonly server?: JsonObject;
  readonly admission?: JsonObject;
  readonly auth?: JsonObject;
  readonly budgets?: JsonObject;
  readonly telemetry?: JsonObject;
}

const TIMEOUTS = { connect: '2s', read: '10s', write: '10s' };

const ENGINE_PATHS: Readonly<Record<Operation, string>> = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  embeddings: '/v1/embeddings',
  rerank: '/rerank',
};

const SCOPES: Readonly<Record<Operation, string>> = {
  chat: 'llm:chat',
  completions: 'llm:chat',
  embeddings: 'llm:embed',
  rerank: 'llm:rerank',
};

/** The YAML of a gateway on free ports of the loopback, with every key that a configuration must have. */
export function gatewayYaml(options: GatewayOptions): string {
  const sections = {
    server: { ...SERVER, ...options.server },
    upstreams: options.upstreams.map(upstreamSection),
    models: (options.models ?? []).map((model) => ({ contextLength: 32_768, ...model })),
    operations: Object.fromEntries(
      OPERATIONS.map((name) => [name, operationSection(name, options.operations?.[name])]),
    ),
    aliases: options.aliases ?? [],
    proxies: (options.proxies ?? []).map(proxySection),
    admission: { ...ADMISSION, ...options.admission },
    auth: { ...AUTH, ...options.auth },
    budgets: { ...BUDGETS, ...options.budgets },
    telemetry: { logLevel: 'info', tracing: false, ...options.telemetry },
  };
  // The gateway takes no YAML anchors, and what stands here twice would become one.
  return stringify(sections, { aliasDuplicateObjects: false });
}

const SERVER = {
  listen: '127.0.0.1:0',
  management: '127.0.0.1:0',
  trustedProxies: ['127.0.0.1/32'],
  headersTimeout: '5s',
  bodyTimeout: '5s',
  keepAliveTimeout: '5s',
  maxHeaderSize: '16KiB',
  drainTimeout: '5s',
  drainDelay: '10ms',
  problemBase: 'https://gateway.test/problems/',
  replicas: 1,
  workers: 1,
};

const ADMISSION = {
  store: 'none',
  peers: 'gateway-peers.test:9090',
  strictReserve: false,
  heartbeat: '15s',
  heartbeatEventsAfter: '200s',
  retryAfter: '1s',
  defaultBand: 'gold',
  bands: [
    { name: 'platinum', ceiling: 1, capacity: 64, ttl: '20s' },
    { name: 'gold', ceiling: 1, capacity: 128, ttl: '20s' },
    { name: 'bronze', ceiling: 1, capacity: 512, ttl: '20s' },
  ],
};

const AUTH = {
  enabled: false,
  issuers: [
    { issuer: 'https://issuer.test/gateway/', jwksUri: 'https://issuer.test/gateway/jwks/', audience: ['gateway'] },
  ],
  algorithms: ['RS256', 'ES256'],
  clockTolerance: '5s',
  tenantClaim: 'sub',
  bandClaim: 'gateway_band',
  maxKeyAge: '24h',
  bandHeader: 'x-llmgw-band',
  tenantHeader: 'x-llmgw-session',
  bandHeaderTrust: 'lower',
};

const BUDGETS = {
  store: 'memory',
  window: '1m',
  default: { requests: 100_000, tokens: 1_000_000_000 },
  tenants: [],
};

function upstreamSection({ name, url, engine, slots, more }: TestUpstream): JsonObject {
  const held = slots ?? { limit: 32, perEndpoint: 32 };
  return { name, url, discover: 'single', engine, connections: 64, slots: held, ...more };
}

const operationSection = (name: Operation, more: JsonObject | undefined): JsonObject => ({
  path: ENGINE_PATHS[name],
  timeouts: TIMEOUTS,
  maxBody: '1MiB',
  scope: SCOPES[name],
  ...more,
});

const proxySection = ({ more, ...proxy }: TestProxy): JsonObject => ({
  stripPrefix: true,
  methods: ['GET', 'POST'],
  websocket: false,
  timeouts: TIMEOUTS,
  maxBody: '1MiB',
  scope: 'proxy:use',
  ...proxy,
  ...more,
});
