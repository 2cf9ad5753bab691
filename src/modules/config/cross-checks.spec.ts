import { readFileSync } from 'node:fs';
import { ConfigFaults, parseConfig } from './load-config.js';

const example = readFileSync('config/gateway.yaml', 'utf8');
type Edit = readonly [from: string | RegExp, to: string];

/** The faults of the example after some edits, each as `path: message`. */
function faultsAfter(...edits: readonly Edit[]): readonly string[] {
  const text = edits.reduce((before, [from, to]) => {
    const after = before.replace(from, () => to);
    expect(after).not.toBe(before);
    return after;
  }, example);
  try {
    parseConfig(text, 'gateway.yaml', {});
    return [];
  } catch (error) {
    if (!(error instanceof ConfigFaults)) throw error;
    return error.faults.map(({ path, message }) => `${path}: ${message}`);
  }
}

const REASONING_URL = 'http://reasoning-predictor.llm-serving:80';
const PEERS_SECRET: Edit = ['# peersSecretFile:', 'peersSecretFile:'];

it.each<[string, readonly Edit[], string]>([
  ['listeners on one address', [['${MANAGEMENT:-0.0.0.0:9090}', '0.0.0.0:8080']], 'server.management: "0.0.0.0:8080" is the address of server.listen too'],
  ['listeners where one takes every address', [['${MANAGEMENT:-0.0.0.0:9090}', '127.0.0.1:8080']], 'server.management: "127.0.0.1:8080" is the address'],
  ['two upstreams of one name', [['- name: atlas', '- name: console']], 'upstreams[5].name: "console" is already the name of upstreams[4]'],
  ['two models of one id', [['{ id: "ornith:35b"', '{ id: "reasoning"']], 'models[1].id: "reasoning" is already the id of models[0]'],
  ['a model of no upstream', [['upstream: ornith,', 'upstream: nowhere,']], 'models[1].upstream: "nowhere" is not the name of an upstream (there are: reasoning, ornith,'],
  ['a prefix of no upstream', [['upstream: atlas', 'upstream: atlass']], 'proxies[0].upstream: "atlass" is not the name of an upstream'],
  ['a link-local upstream', [[REASONING_URL, 'http://169.254.169.254']], 'upstreams[0].url: "http://169.254.169.254" is a link-local or metadata address'],
  ['the same in hexadecimal', [[REASONING_URL, 'http://0xA9FEA9FE']], 'upstreams[0].url: "http://0xA9FEA9FE" is a link-local'],
  ['the same inside IPv6', [[REASONING_URL, 'http://[::ffff:169.254.169.254]']], 'upstreams[0].url: "http://[::ffff:169.254.169.254]" is a link-local'],
  ['a link-local IPv6 upstream', [[REASONING_URL, 'http://[febf::1]']], 'upstreams[0].url: "http://[febf::1]" is a link-local'],
  ['a metadata name', [[REASONING_URL, 'http://Metadata.google.internal.']], 'upstreams[0].url: "http://Metadata.google.internal." is a link-local'],
  ['fewer sockets than slots', [['limit: 7 ', 'limit: 65 ']], 'upstreams[0].connections: 64 is below slots.limit (65)'],
  ['polls that overlap', [['timeout: 1s', 'timeout: 2s']], 'upstreams[0].observe.timeout: "2s" is not below observe.interval'],
  ['a reserve without room', [['ceiling: 1.0', 'ceiling: 1.1']], 'upstreams[0].observe.maxInflight: 4 is below 5, which the highest band'],
  ['a body that memory cannot hold', [['# bodyMemory: 128MiB', 'bodyMemory: 2MiB']], 'operations.embeddings.maxBody: "4MiB" is above server.bodyMemory (2097152 bytes)'],
  ['a total that a connection may outlast', [['{ connect: 10s, read: 1h, write: 1h }', '{ connect: 10s, read: 1h, write: 1h, total: 9999ms }']], 'operations.chat.timeouts.total: "9999ms" is below connect (10s)'],
  ['the same of a prefix', [['{ connect: 5s, read: 60s, write: 60s }', '{ connect: 5s, read: 60s, write: 60s, total: 1s }']], 'proxies[0].timeouts.total: "1s" is below connect (5s)'],
  ['two aliases on one path', [['/v1/ornith/', '/v1/reasoning/']], 'aliases[1].path: "/v1/reasoning/chat/completions" is already the path of aliases[0]'],
  ['an alias of no model', [[/model: "ornith:35b"/u, 'model: "ornith"']], 'aliases[1].model: "ornith" is not the id of a model (there are: reasoning, ornith:35b,'],
  ['an alias of what its model does not do', [['operation: chat, model: "reasoning"', 'operation: rerank, model: "reasoning"']], 'aliases[0].operation: "rerank" is not among the operations of reasoning (chat, completions)'],
  ['an alias outside /v1/', [['path: /v1/reasoning/', 'path: /v2/reasoning/']], 'aliases[0].path: "/v2/reasoning/chat/completions" does not begin with /v1/'],
  ['an alias on a path of the gateway', [['path: /v1/reasoning/chat/completions', 'path: /v1/Chat/completions']], 'aliases[0].path: "/v1/Chat/completions" is a path of the gateway itself'],
  ['an alias below the list of models', [['path: /v1/reasoning/', 'path: /v1/models/']], 'aliases[0].path: "/v1/models/chat/completions" is a path of the gateway itself'],
  ['a prefix within /v1', [['prefix: /cluster', 'prefix: /V1/cluster']], 'proxies[0].prefix: "/V1/cluster" lies within /v1'],
  ['a prefix at /llm', [['prefix: /cluster', 'prefix: /llm']], 'proxies[0].prefix: "/llm" lies within /llm'],
  ['a prefix at a probe', [['prefix: /cluster', 'prefix: /readyz']], 'proxies[0].prefix: "/readyz" lies within /readyz'],
  ['two equal prefixes', [['prefix: /console', 'prefix: /cluster']], 'proxies[1].prefix: "/cluster" overlaps with /cluster of proxies[0]'],
  ['a prefix inside another', [['prefix: /cluster', 'prefix: /console/a']], 'proxies[1].prefix: "/console" overlaps with /console/a of proxies[0]'],
  ['a socket block without sockets', [['websocket: true', 'websocket: false'], ['# socket:', 'socket:']], 'proxies[1].websocket: false leaves the socket block without meaning'],
  ['sockets without GET', [['methods: [GET, POST]', 'methods: [POST]']], 'proxies[1].websocket: true needs GET among the methods'],
  ['a default band that is none', [['defaultBand: gold', 'defaultBand: silver']], 'admission.defaultBand: "silver" is not the name of a band (there are: platinum, gold, bronze)'],
  ['two bands of one name', [['name: bronze', 'name: gold']], 'admission.bands[2].name: "gold" is already the name of admission.bands[1]'],
  ['a ceiling that rises', [['ceiling: 0.75', 'ceiling: 0.95']], 'admission.bands[2].ceiling: 0.95 is above 0.9, the ceiling of a band before it'],
  ['peers without a secret', [['${ADMISSION_STORE:-none}', 'peers']], 'admission.store: "peers" needs admission.peersSecretFile'],
  ['heartbeats in the wrong order', [['heartbeat: 15s', 'heartbeat: 200s']], 'admission.heartbeat: "200s" is not below admission.heartbeatEventsAfter'],
  ['auth without an issuer', [[/issuers:[\s\S]*?\n {2}algorithms/u, 'issuers: []\n  algorithms'], ['${AUTH_ENABLED:-false}', 'true']], 'auth.enabled: true needs at least one entry in auth.issuers'],
  ['bands at will with auth on', [['bandHeaderTrust: lower', 'bandHeaderTrust: any'], ['${AUTH_ENABLED:-false}', 'true']], 'auth.bandHeaderTrust: "any" would let any caller choose its band'],
  ['one header for band and tenant', [['x-llmgw-session', 'x-llmgw-band']], 'auth.tenantHeader: "x-llmgw-band" is auth.bandHeader too'],
  ['keys that end before they are fetched anew', [['maxKeyAge: 24h', 'maxKeyAge: 10m'], ['# keyRefresh:', 'keyRefresh:']], 'auth.keyRefresh: "10m" is not below auth.maxKeyAge'],
  ['a band in a field of credentials', [['bandHeader: x-llmgw-band', 'bandHeader: x-api-key']], 'auth.bandHeader: "x-api-key" is a field of credentials'],
  ['a token where clients put theirs', [['# tokenHeader: x-authentik-jwt', 'tokenHeader: authorization']], 'proxies[1].tokenHeader: "authorization" is a field of credentials'],
  ['a token where the tenant stands', [['# tokenHeader: x-authentik-jwt', 'tokenHeader: x-llmgw-session']], 'proxies[1].tokenHeader: "x-llmgw-session" is auth.tenantHeader too'],
  ['a group without a claim', [['scope: "llm:chat" }', 'scope: "llm:chat", group: gpu }']], 'operations.chat.group: "gpu" needs auth.groupsClaim'],
  ['a group of everyone', [['scope: "cluster:read"', 'scope: public\n    group: gpu'], ['# groupsClaim:', 'groupsClaim:']], 'proxies[0].group: "gpu" is never asked for'],
  ['two budgets of one tenant', [['tenants:\n', 'tenants:\n    - { name: "svc-batch", requests: 1, tokens: 1 }\n']], 'budgets.tenants[1].name: "svc-batch" is already the name of budgets.tenants[0]'],
])('%s stop the start', (_what, edits, fault) => {
  const [first, ...more] = faultsAfter(...edits).filter((told) => told.startsWith(fault));
  expect([first, more]).toEqual([expect.stringContaining(fault), []]);
}); // prettier-ignore

it.each<[string, readonly Edit[]]>([
  ['listeners that both take any free port', [['${LISTEN:-0.0.0.0:8080}', '127.0.0.1:0'], ['${MANAGEMENT:-0.0.0.0:9090}', '127.0.0.1:0']]],
  ['one port on two addresses', [['${LISTEN:-0.0.0.0:8080}', '10.1.1.1:8080'], ['${MANAGEMENT:-0.0.0.0:9090}', '127.0.0.1:8080']]],
  ['a reserve with room', [['ceiling: 1.0', 'ceiling: 1.5'], ['${ADMISSION_MAX_INFLIGHT:-4}', '6']]],
  ['peers with a secret', [['${ADMISSION_STORE:-none}', 'peers'], PEERS_SECRET]],
  ['a total below the longest silence', [['{ connect: 5s, read: 60s, write: 60s }', '{ connect: 5s, read: 60s, write: 60s, total: 5s }']]],
  ['prefixes that only begin alike', [['prefix: /console', 'prefix: /cluster-console']]],
  ['a prefix that begins like a reserved path', [['prefix: /console', 'prefix: /v1beta']]],
  ['an upstream that nobody uses', [['- name: atlas', '- name: spare\n    url: "http://spare"\n    discover: single\n    engine: http\n    connections: 1\n    slots: { limit: 1, perEndpoint: 1 }\n  - name: atlas']]],
  ['bands at will with auth off', [['bandHeaderTrust: lower', 'bandHeaderTrust: any']]],
  ['no issuers with auth off', [[/issuers:[\s\S]*?\n {2}algorithms/u, 'issuers: []\n  algorithms']]],
  ['a group with a claim', [['scope: "llm:chat" }', 'scope: "llm:chat", group: gpu }'], ['# groupsClaim:', 'groupsClaim:']]],
  ['equal ceilings', [['ceiling: 0.75', 'ceiling: 0.9']]],
])('%s do not', (_what, edits) => {
  expect(faultsAfter(...edits)).toEqual([]);
}); // prettier-ignore

it('asks for no place more than a ceiling needs, whatever binary fractions make of it', () => {
  const room: Edit = ['${ADMISSION_MAX_INFLIGHT:-4}', '11'];
  expect(faultsAfter(['ceiling: 1.0', 'ceiling: 1.1'], ['perEndpoint: 4   ', 'perEndpoint: 10  '], room)).toEqual([]);
});

it('does not judge again what has a fault of its own', () => {
  const told = faultsAfter(
    ['upstream: ornith,', 'upstream: "or nith",'],
    ['ceiling: 1.0', 'ceiling: 2s'],
    ['limit: 7 ', 'limit: x '],
  );
  expect(told).toEqual([
    expect.stringContaining('upstreams[0].slots.limit: "x" is not a whole number'),
    expect.stringContaining('models[1].upstream: "or nith" is not a name'),
    expect.stringContaining('admission.bands[0].ceiling: "2s" is not a number'),
  ]);
});

describe('with auth on, the operator is warned', () => {
  const warnings = (...edits: readonly Edit[]): readonly string[] => {
    const on: Edit = ['${AUTH_ENABLED:-false}', 'true'];
    const text = [on, ...edits].reduce((before, [from, to]) => before.replace(from, () => to), example);
    return parseConfig(text, 'gateway.yaml', {}).warnings;
  };

  it('of sockets that outlive their tokens', () => {
    expect(warnings()).toContainEqual(expect.stringContaining('without timeouts.total'));
    const bounded: Edit = ['{ connect: 5s, read: 1h, write: 1h }', '{ connect: 5s, read: 1h, write: 1h, total: 8h }'];
    expect(warnings(bounded).filter((told) => told.includes('timeouts.total'))).toEqual([]);
  });

  it('of keys that are fetched in the clear', () => {
    expect(warnings().filter((told) => told.includes('not https'))).toEqual([]);
    const plain: Edit = ['jwksUri: "https:', 'jwksUri: "http:'];
    expect(warnings(plain)).toContainEqual(expect.stringContaining('auth.issuers[0].jwksUri'));
  });
});
