import { entries, reportRepeats, reportUnknown, type Check } from '../sections.js';

const BUILT_IN = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/embeddings',
  '/v1/rerank',
  '/v1/responses',
  '/v1/models',
];
/** A model's id is a path below it. */
const BUILT_IN_BELOW = '/v1/models';
const NEVER_A_PREFIX = ['/v1', '/llm', '/healthz', '/readyz'];

export const checkAliases: Check = (config, report) => {
  reportRepeats(
    config.aliases?.map((alias) => alias.path),
    { list: 'aliases', key: 'path' },
    report,
  );
  const ids = config.models?.map((model) => model.id);
  for (const [alias, path] of entries(config.aliases, 'aliases')) {
    if (alias.path !== undefined) {
      const taken = alias.path.toLowerCase();
      if (!alias.path.startsWith('/v1/')) report(`${path}.path`, 'does not begin with /v1/');
      if (BUILT_IN.includes(taken) || isWithin(taken, BUILT_IN_BELOW))
        report(`${path}.path`, 'is a path of the gateway itself');
    }
    reportUnknown(alias.model, { path: `${path}.model`, what: 'the id of a model', names: ids }, report);
  }
};

export const checkAliasOperations: Check = (config, report) => {
  for (const [{ operation, model: id }, path] of entries(config.aliases, 'aliases')) {
    const operations = config.models?.find((model) => id !== undefined && model.id === id)?.operations;
    if (operation === undefined || operations === undefined || operations.includes(operation)) continue;
    report(`${path}.operation`, `is not among the operations of ${id} (${operations.join(', ')})`);
  }
};

export const checkProxies: Check = (config, report) => {
  const names = config.upstreams?.map((upstream) => upstream.name);
  const proxies = entries(config.proxies, 'proxies');
  for (const [proxy, path] of proxies) {
    reportUnknown(proxy.upstream, { path: `${path}.upstream`, what: 'the name of an upstream', names }, report);
    if (proxy.websocket === false && proxy.socket !== undefined) {
      report(`${path}.websocket`, 'leaves the socket block without meaning: set it to true, or leave the block out');
    }
    if (proxy.websocket === true && proxy.methods?.includes('GET') === false) {
      report(`${path}.websocket`, 'needs GET among the methods: every WebSocket begins with one');
    }
    const reserved = NEVER_A_PREFIX.find((taken) => isWithin(proxy.prefix?.toLowerCase(), taken));
    if (reserved !== undefined) report(`${path}.prefix`, `lies within ${reserved}, which is the gateway's own`);
  }
};

export const checkPrefixesApart: Check = (config, report) => {
  const seen: (readonly [string, string])[] = [];
  for (const [{ prefix }, path] of entries(config.proxies, 'proxies')) {
    if (prefix === undefined) continue;
    const other = seen.find(([earlier]) => isWithin(prefix, earlier) || isWithin(earlier, prefix));
    if (other !== undefined)
      report(`${path}.prefix`, `overlaps with ${other[0]} of ${other[1]}: no prefix may lie within another`);
    seen.push([prefix, path]);
  }
};

/** The same path or one below it, by whole segments. */
const isWithin = (path: string | undefined, parent: string): boolean =>
  path !== undefined && (path === parent || path.startsWith(`${parent}/`));
