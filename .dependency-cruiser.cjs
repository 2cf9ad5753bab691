/** The Nest suffixes: only files that carry one may touch the framework. */
const SUFFIXES = 'module|controller|guard|interceptor|filter|strategy|decorator|config|indicator|plugin|command';

/** Which modules may import which; every module may import src/common. A module that is not here may import nothing. */
const MODULES = {
  workers: [],
  auth: [],
  'shared-store': [],
  budgets: ['shared-store'],
  'engine-observer': ['workers'],
  admission: ['budgets', 'engine-observer', 'shared-store', 'workers'],
  proxy: ['auth', 'budgets', 'admission'],
  dialects: ['auth', 'budgets', 'admission', 'proxy'],
  telemetry: ['auth', 'budgets', 'engine-observer', 'admission', 'proxy', 'workers'],
  // Health answers through the exchange, as every handler does: that is how an answer gets its request id.
  health: ['auth', 'engine-observer', 'admission', 'proxy'],
  operator: ['engine-observer', 'admission', 'workers'],
  plugins: ['auth', 'budgets', 'admission', 'proxy'],
};

/** Packages by name, wherever they resolve to; one that is not installed keeps its bare name. */
const packages = (...names) => `(^|node_modules/)(${names.join('|')})(/|$)`;

const moduleRules = Object.entries(MODULES).map(([name, allowed]) => ({
  name: `${name}-imports`,
  comment: allowed.length > 0 ? `${name} may import ${allowed.join(', ')}` : `${name} imports no other module`,
  severity: 'error',
  from: { path: `^src/modules/${name}/` },
  to: { path: '^src/modules/', pathNot: `^src/modules/(${[name, ...allowed].join('|')})/` },
}));

const rules = [
  ...moduleRules,
  {
    name: 'config-imports',
    comment: 'config may import the section classes of every module, and nothing else of them',
    from: { path: '^src/modules/config/' },
    to: { path: '^src/modules/', pathNot: '^src/modules/config/|\\.config\\.ts$' },
  },
  {
    name: 'modules-are-listed',
    comment: 'a new module is a row of the table',
    from: { path: '^src/modules/', pathNot: `^src/modules/(config|${Object.keys(MODULES).join('|')})/` },
    to: {},
  },
  {
    name: 'no-cycles',
    comment: 'type imports counted',
    from: {},
    to: { circular: true },
  },
  {
    name: 'common-is-the-floor',
    comment: 'common knows nobody',
    from: { path: '^src/common/' },
    to: { path: '^src/(?!common/)' },
  },
  {
    name: 'core-is-framework-free',
    comment: 'policy runs in a test without Nest, Fastify or a network',
    from: { path: '^src/(common|sim|scenarios)/|^src/[^/]+/[^/]+/core/' },
    to: {
      path: packages(
        ...['@nestjs', '@fastify', 'fastify', 'undici', 'ioredis', 'rxjs', 'passport[^/]*', '@nestjs/passport'],
        ...['jwks-rsa', 'prom-client', '@opentelemetry'],
      ),
    },
  },
  {
    name: 'scenarios-imports',
    comment: 'scenarios put the real controller in front of simulated engines, and know nothing else',
    from: { path: '^src/scenarios/' },
    to: { path: '^src/', pathNot: '^src/(scenarios|sim/core|common|modules/admission/core)/' },
  },
  {
    name: 'only-the-cli-runs-scenarios',
    comment: 'no part of the gateway is built on its own simulation',
    from: { path: '^src/(?!scenarios/|cli/)' },
    to: { path: '^src/scenarios/' },
  },
  {
    name: 'monitoring-imports',
    comment: 'dashboard and alerts are made of the list of series, and know nothing else of the gateway',
    from: { path: '^src/monitoring/', pathNot: '\\.spec\\.ts$' },
    to: { path: '^src/', pathNot: '^src/monitoring/|^src/modules/telemetry/series\\.ts$' },
  },
  {
    name: 'core-stays-home',
    comment: 'a core knows common and itself',
    from: { path: '^src/(modules|plugins)/([^/]+)/core/' },
    to: { path: '^src/', pathNot: '^src/common/|^src/$1/$2/core/' },
  },
  {
    name: 'front-door-only',
    comment: "another module's core is private",
    from: { path: '^src/modules/([^/]+)/' },
    to: { path: '^src/modules/[^/]+/core/', pathNot: '^src/modules/$1/' },
  },
  {
    name: 'front-door-only-from-outside',
    comment: "a module's core is private",
    from: { path: '^src/(?:cli/|[^/]+\\.ts$)' },
    to: { path: '^src/modules/[^/]+/core/' },
  },
  {
    name: 'suffix-tells-the-layer',
    comment: 'a file without a Nest suffix keeps Nest out',
    from: { path: '^src/', pathNot: `\\.(${SUFFIXES})(\\.spec)?\\.ts$|^src/main\\.ts$|^src/http-server\\.ts$` },
    to: { path: packages('@nestjs') },
  },
  {
    name: 'validators-in-config-only',
    comment: 'what is validated by decorators is configuration',
    from: { path: '^src/', pathNot: '\\.config(\\.spec)?\\.ts$|^src/modules/config/|^src/common/config/' },
    to: { path: packages('class-validator', 'class-transformer') },
  },
  {
    name: 'dialects-are-strangers',
    comment: 'no dialect knows another',
    from: { path: '^src/modules/dialects/core/([^/]+)/' },
    to: { path: '^src/modules/dialects/core/[^/]+/', pathNot: '^src/modules/dialects/core/$1/' },
  },
  {
    name: 'one-door-out',
    comment: 'only a client talks to the outside',
    from: { path: '^src/', pathNot: '-client(\\.spec)?\\.ts$' },
    to: { path: packages('undici', 'ioredis', '@temporalio') },
  },
  {
    name: 'sockets-have-their-place',
    comment: 'only the WebSocket proxy and the simulated engines speak WebSocket',
    from: {
      path: '^src/',
      pathNot: '^src/modules/proxy/([^/]+-client|websocket|core/websocket-[^/]+)(\\.spec)?\\.ts$|^src/sim/',
    },
    to: { path: packages('ws') },
  },
  {
    name: 'plugins-see-the-contract',
    comment: 'a plugin knows its contract, and no other plugin',
    from: { path: '^src/plugins/([^/]+)/' },
    to: {
      path: '^src/',
      pathNot: [
        '^src/plugins/$1/',
        '^src/common/',
        '^src/modules/plugins/[^/]+\\.ts$',
        '^src/modules/auth/require-scope\\.decorator\\.ts$',
      ],
    },
  },
  {
    name: 'plugins-are-unknown',
    comment: 'one list names the plugins',
    from: { path: '^src/', pathNot: '^src/plugins/|^src/installed-plugins\\.ts$' },
    to: { path: '^src/plugins/' },
  },
  {
    name: 'tests-stay-out',
    comment: 'what is shipped needs no test',
    from: { path: '^src/', pathNot: '\\.spec\\.ts$' },
    to: { path: '^test/|\\.spec\\.ts$' },
  },
];

module.exports = {
  forbidden: rules.map((rule) => ({ severity: 'error', ...rule })),
  options: {
    doNotFollow: { path: 'node_modules' },
    // Type imports are edges too: what a type knows, its module knows.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
