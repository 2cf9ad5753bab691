import { readFileSync } from 'node:fs';
import { RoutingTable } from '../../common/config/routing-table.js';
import { ServerConfig } from '../../common/config/server.config.js';
import { BandConfig } from '../admission/admission.config.js';
import { ConfigFaults, loadConfig, parseConfig, type Environment } from './load-config.js';

const FILE = 'gateway.yaml';
const example = readFileSync('config/gateway.yaml', 'utf8');

/** The example with some of its text replaced; every piece must be there. */
function exampleWith(...edits: readonly (readonly [string, string])[]): string {
  return edits.reduce((text, [from, to]) => {
    expect(text).toContain(from);
    return text.replace(from, () => to);
  }, example);
}

function faultsOf(text: string, env: Environment = {}): readonly string[] {
  try {
    parseConfig(text, FILE, env);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigFaults)) throw error;
    return error.faults.map(String);
  }
}

/** Where a piece of the text begins, as a fault tells it. */
function placeIn(text: string, piece: string): string {
  const before = text.slice(0, text.indexOf(piece)).split('\n');
  return `${FILE}:${before.length}:${(before.at(-1) ?? '').length + 1}`;
}

describe('the example', () => {
  const { config, warnings } = loadConfig('config/gateway.yaml', {});

  it('loads as it stands, without a warning', () => {
    expect(warnings).toEqual([]);
    expect(Object.keys(config)).toEqual([
      'server', 'upstreams', 'models', 'operations', 'aliases', 'proxies', 'admission', 'auth', 'budgets', 'telemetry',
    ]); // prettier-ignore
  });

  it('becomes instances of its classes, with units in the names and absent keys absent', () => {
    expect(config.server).toBeInstanceOf(ServerConfig);
    expect(config.admission.bands[0]).toBeInstanceOf(BandConfig);
    expect({ ...config.server }).toEqual({
      listen: '0.0.0.0:8080',
      management: '0.0.0.0:9090',
      trustedProxies: ['127.0.0.1/32', '10.0.0.0/8'],
      headersTimeoutMs: 10_000,
      bodyTimeoutMs: 60_000,
      keepAliveTimeoutMs: 75_000,
      maxHeaderSizeBytes: 16_384,
      drainTimeoutMs: 3_600_000,
      problemBase: 'https://api.riotpiao.com/problems/',
      replicas: 3,
      workers: 1,
    });
    expect('drainDelayMs' in config.server).toBe(false);
    expect(config.operations.chat).toMatchObject({ maxBodyBytes: 1_048_576, timeouts: { readMs: 3_600_000 } });
    expect(config.upstreams[0]?.observe).toMatchObject({ kvCeiling: 0.9, maxInflight: 4, maxParkMs: 120_000 });
    expect(config.auth).toMatchObject({ enabled: false, clockToleranceMs: 30_000, maxKeyAgeMs: 86_400_000 });
  });

  it('takes its variables from the environment it is given', () => {
    const env = {
      AUTH_ENABLED: 'true',
      GATEWAY_REPLICAS: '5',
      MAX_BODY_BYTES: '2048',
      ADMISSION_STORE: 'redis://redis:6379/0',
    };
    const loaded = loadConfig('config/gateway.yaml', env).config;
    expect([loaded.auth.enabled, loaded.server.replicas]).toEqual([true, 5]);
    expect([loaded.operations.chat.maxBodyBytes, loaded.admission.store]).toEqual([2_048, 'redis://redis:6379/0']);
  });

  it('takes every key that it shows commented out', () => {
    const uncommented = exampleWith(
      ['# drainDelay:', 'drainDelay:'],
      ['# maxConnections:', 'maxConnections:'],
      ['# bodyMemory:', 'bodyMemory:'],
      ['# credentialFile:', 'credentialFile:'],
      ['# dialects:', 'dialects:'],
      ['# socket:', 'socket:'],
      ['# tokenHeader:', 'tokenHeader:'],
      ['# forward:', 'forward:'],
      ['# peersSecretFile:', 'peersSecretFile:'],
      ['# keyRefresh:', 'keyRefresh:'],
      ['# keyGrace:', 'keyGrace:'],
      ['# maxTokenLifetime:', 'maxTokenLifetime:'],
      ['# groupsClaim:', 'groupsClaim:'],
      ['# identityFrom:', 'identityFrom:'],
    );
    const loaded = parseConfig(uncommented, FILE, {}).config;
    expect(loaded.server).toMatchObject({ drainDelayMs: 5_000, maxConnections: 4_096, bodyMemoryBytes: 134_217_728 });
    expect(loaded.proxies[1]?.socket).toEqual({
      pingMs: 30_000,
      missedPongs: 2,
      perTenant: 16,
      origins: ['https://console.example'],
    });
    expect(loaded.auth).toMatchObject({ keyRefreshMs: 600_000, keyGraceMs: 600_000, maxTokenLifetimeMs: 86_400_000 });
  });
});

it('loads the configuration of the laptop, whose models and aliases are those of the example', () => {
  const { config, warnings } = loadConfig('config/local.yaml', { REASONING_URL: 'http://127.0.0.1:19101' });
  const { config: production } = loadConfig('config/gateway.yaml', {});
  expect(warnings).toEqual([]);
  expect([config.models, config.aliases, config.operations]).toEqual([
    production.models,
    production.aliases,
    production.operations,
  ]);
  expect(new RoutingTable(config).model('reasoning')?.upstream.url).toBe('http://127.0.0.1:19101');
});

describe('faults', () => {
  it('come all at once, in the order of the file, whatever their kind', () => {
    const text = exampleWith(
      ['headersTimeout: 10s', 'headerTimeout: 10s'],
      ['listen: "${LISTEN:-0.0.0.0:8080}" ', 'listen: "${NOWHERE}"'],
      ['connections: 64 ', 'connections: 6'],
      ['{ id: "ornith:35b", upstream: ornith,', '{ id: "ornith:35b", upstream: orinth,'],
      ['ceiling: 1.0', 'ceiling: "high"'],
      ['clockTolerance: 30s', 'clockTolerance: 61s'],
      ['  tracing:', '  trace: &x 1\n  tracing:'],
    );
    const shownPaths = faultsOf(text).map((fault) => fault.split(' ')[1]);
    expect(shownPaths).toEqual([
      'server.headersTimeout:',
      'server.listen:',
      'server.headerTimeout:',
      'upstreams[0].connections:',
      'models[1].upstream:',
      'admission.bands[0].ceiling:',
      'auth.clockTolerance:',
      'telemetry.trace:',
      'telemetry.trace:',
    ]);
  });

  it('say where, what stands there and what is allowed', () => {
    const text = exampleWith(['ceiling: 1.0', 'ceiling: "high"']);
    expect(faultsOf(text)).toEqual([
      `${placeIn(text, '"high"')} admission.bands[0].ceiling: "high" is not a number above 0`,
    ]);
  });

  it('point at an unknown key, name the allowed ones and guess the one meant', () => {
    const text = exampleWith(['name: gold,     ceiling', 'name: gold,     celing']);
    const [missing, unknown] = faultsOf(text);
    expect(unknown).toBe(
      `${placeIn(text, 'celing')} admission.bands[1].celing: is not a key here: did you mean ceiling? (allowed: name, ceiling, capacity, ttl)`,
    );
    expect(missing).toBe(
      `${placeIn(text, '{ name: gold')} admission.bands[1].ceiling: is missing: it must be a number above 0`,
    );
  });

  it('place a missing key at its parent, and a missing section at the start', () => {
    const text = example.replace(/^telemetry:[\s\S]*/mu, '').replace('  workers: ', '  # workers: ');
    expect(faultsOf(text)).toEqual([
      expect.stringMatching(
        /^gateway\.yaml:\d+:1 telemetry: is missing: it must be a map with the keys logLevel, tracing$/u,
      ),
      `${placeIn(text, 'server:')} server.workers: is missing: it must be a whole number of 1 or more`,
    ]);
  });

  it('do not take a property name, unit and all, for its key', () => {
    const text = exampleWith(['bodyTimeout: 60s', 'bodyTimeoutMs: 60000']);
    expect(faultsOf(text)).toEqual([
      expect.stringContaining('server.bodyTimeout: is missing'),
      expect.stringContaining('server.bodyTimeoutMs: is not a key here: did you mean bodyTimeout?'),
    ]);
  });

  it.each([
    ['server: {}', 'server.listen: is missing'],
    ['server: []', 'server: a list is not a map with the keys listen, management'],
    ['server:', 'server: null is not a map'],
    ['models: {}', 'models: a map is not a list'],
    ['models: [[]]', 'models[0]: a list is not a map'],
    ['models: [7]', 'models[0]: 7 is not a map with the keys id, upstream, operations, contextLength'],
    ['models: [{ operations: chat }]', 'models[0].operations: "chat" is not a list'],
    ['models: [{ operations: [] }]', 'models[0].operations: is empty, and needs at least one entry'],
    ['models: [{ operations: [chat, chat] }]', 'models[0].operations[1]: "chat" is in the list already'],
    ['models: [{ operations: [chat, [x]] }]', 'models[0].operations[1]: a list is not one of chat'],
    ['admission: { bands: [] }', 'admission.bands: is empty'],
    ['aliases: [{ path: }]', 'aliases[0].path: null is not an absolute path'],
    [
      'plugins: [{ name: workflow }]',
      'plugins[0]: a map is not the entry of an installed plugin: no plugin is installed',
    ],
    ['plugins:', 'plugins: null is not a list'],
    [`server: { listen: "${'x'.repeat(60)}" }`, `server.listen: "${'x'.repeat(38)}… is not host:port`],
  ])('%s', (text, fault) => {
    expect(faultsOf(text)).toContainEqual(expect.stringContaining(fault));
  });

  it('never show what came from the environment', () => {
    const env = { SECRET: 'hunter2', AUTH_ENABLED: 'hunter2', ADMISSION_STORE: 'redis:/hunter2' };
    const text = exampleWith(
      ['logLevel: "${LOG_LEVEL:-info}"', 'logLevel: "${SECRET}${LOG_LEVEL:-}"'],
      [
        'operations: [chat, completions], contextLength: 16384',
        'operations: [chat, "${SECRET}"], contextLength: ["${SECRET}"]',
      ],
    );
    const told = faultsOf(text, env);
    expect(told).toContainEqual(
      expect.stringContaining('telemetry.logLevel: the value of ${SECRET} is not one of fatal'),
    );
    expect(told).toContainEqual(
      expect.stringContaining('auth.enabled: the value of ${AUTH_ENABLED} is not true or false'),
    );
    expect(told).toContainEqual(expect.stringContaining('models[0].contextLength: a list is not a whole number'));
    expect(told).toHaveLength(5);
    expect(told.join()).not.toContain('hunter2');
  });

  it('warn of a trusted network that holds ordinary pods', () => {
    const text = exampleWith(['"10.0.0.0/8"]', '"10.0.0.0/7"]']);
    expect(parseConfig(text, FILE, {}).warnings).toEqual([
      `${placeIn(text, '"10.0.0.0/7"')} server.trustedProxies[1]: "10.0.0.0/7" is so wide a network that it holds ordinary pods: any of them can say who it is`,
    ]);
  });
});

it('never prints what may be a password in a URL', () => {
  const example = readFileSync('config/gateway.yaml', 'utf8');
  const text = example.replace('http://atlas.riotpiao-backend:8080', 'http://user:hunter2@atlas:8080');
  const faults = (): string => {
    try {
      parseConfig(text, 'gateway.yaml', {});
      return 'none';
    } catch (error) {
      return (error as ConfigFaults).faults.map(String).join('\n');
    }
  };
  expect(faults()).toContain('"http://…@atlas:8080"');
  expect(faults()).not.toContain('hunter2');
});
