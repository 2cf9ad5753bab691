import { readFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';

const EXAMPLE = new URL('../../../config/gateway.yaml', import.meta.url);
/** More than the bench has at once: nothing waits unless it is to. */
const PLENTY = 4096;
const CONTEXT_TOKENS = 131_072;

/** An upstream on which one stream runs and all others wait. */
export const HELD_UPSTREAM = 'held';
/** Its model. */
export const HELD_MODEL = 'held-600000ms';
/** A band in whose queue there is room for one. */
export const NARROW_BAND = 'bronze';
/** The engine waits so long between two chunks. */
const MODELS = ['stub', 'stub-1ms', 'stub-10ms', 'stub-20ms', 'stub-600000ms'];

/**
 * The full example of the configuration, as it runs in production, with auth on: only addresses, names and limits are the
 * bench's. `places`: { port, managementPort, engineUrl, issuer }.
 */
export function gatewayConfig({ port, managementPort, engineUrl, issuer }) {
  const config = parse(readFileSync(EXAMPLE, 'utf8'));
  const listen = { listen: `127.0.0.1:${port}`, management: `127.0.0.1:${managementPort}` };
  Object.assign(config.server, listen, { drainTimeout: '1s', drainDelay: '0s', replicas: 1, workers: 1 });
  const [reasoning] = config.upstreams;
  config.upstreams = [upstream(reasoning, engineUrl, 'stub', PLENTY), upstream(reasoning, engineUrl, HELD_UPSTREAM, 2)];
  config.models = [...MODELS.map((id) => model(id, 'stub')), model(HELD_MODEL, HELD_UPSTREAM)];
  config.aliases = [];
  config.proxies = [];
  config.admission.store = 'none';
  for (const band of config.admission.bands) band.capacity = band.name === NARROW_BAND ? 1 : PLENTY;
  Object.assign(config.auth, { enabled: true, issuers: [issuer] });
  Object.assign(config.budgets, { store: 'memory', default: { requests: 1_000_000_000, tokens: 1_000_000_000_000 } });
  config.telemetry.logLevel = 'info';
  return stringify(config, { aliasDuplicateObjects: false });
}

const upstream = (like, url, name, slots) => ({
  ...like,
  ...{ name, url, discover: 'single', connections: PLENTY },
  slots: { limit: slots, perEndpoint: slots },
  observe: { ...like.observe, maxInflight: PLENTY },
});

const model = (id, upstreamName) => ({
  id,
  upstream: upstreamName,
  operations: ['chat'],
  contextLength: CONTEXT_TOKENS,
});
