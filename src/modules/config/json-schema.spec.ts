import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { fieldsOf } from '../../common/config/field.js';
import type { Section } from '../../common/config/rule.js';
import { bind } from './core/bind.js';
import { YamlSource } from './core/yaml-source.js';
import { GatewayConfig } from './gateway.config.js';
import { jsonSchema, jsonSchemaText } from './json-schema.js';

const exampleText = readFileSync('config/gateway.yaml', 'utf8');
const bySchema = new Ajv({ allErrors: false }).compile(jsonSchema());
const byClasses = (data: unknown): boolean => bind(GatewayConfig, data, new Set()).findings.length === 0;

/** The commented-out keys of the example, with values as shown there. */
const OPTIONAL: readonly (readonly [readonly (string | number)[], unknown])[] = [
  [['server', 'drainDelay'], '5s'],
  [['server', 'maxConnections'], 4096],
  [['server', 'bodyMemory'], '128MiB'],
  [['upstreams', 0, 'credentialFile'], '/run/secrets/vllm-key'],
  [
    ['upstreams', 0, 'dialects'],
    ['anthropic', 'responses'],
  ],
  [['operations', 'chat', 'group'], 'gpu'],
  [['operations', 'chat', 'timeouts', 'total'], '2h'],
  [['proxies', 1, 'socket'], { ping: '30s', missedPongs: 2, perTenant: 16, origins: ['https://console.example'] }],
  [['proxies', 1, 'tokenHeader'], 'x-authentik-jwt'],
  [
    ['proxies', 1, 'forward'],
    ['cookie', 'set-cookie'],
  ],
  [['proxies', 1, 'group'], 'staff'],
  [['admission', 'peersSecretFile'], '/run/secrets/admission-peers'],
  [['auth', 'keyRefresh'], '10m'],
  [['auth', 'keyGrace'], '10m'],
  [['auth', 'maxTokenLifetime'], '24h'],
  [['auth', 'groupsClaim'], 'groups'],
  [['auth', 'identityFrom'], ['10.8.0.0/16']],
];

/** Each of them is right in some place and wrong in most. How much is too much, a schema's pattern cannot say. */
const OTHER_VALUES: readonly unknown[] = [
  null, true, 0, 1, -1, 2.5, 1e21, '', ' ', 'x', 'X y', 'none', 'peers', 'memory', '0s', '1s', '1.5s', '0.0ms', '10', '5d', '-1s',
  '0B', '1KiB', '1.5B', '1.5MiB', '/', '/a', '/a/', '/a//b', '/a/../b', 'http://h', 'http://h/', 'http://h/p', 'ftp://h', 'http://u:p@h',
  'http://h/?q', 'http://h/#f', 'redis://h:1/0', 'redis://', 'h:1', 'h', '10.0.0.0/8', '::1', 'GET', 'get', 'chat', 'any', 'content-length',
  'x-name', 'X-Name', 'a b', 'a"b', 'tab\tbed', [], ['x'], ['x', 'x'], [1], ['chat'], ['GET', 'GET'], {}, { x: 1 }, [{}], [[]], [null],
]; // prettier-ignore

type Node = Record<string | number, unknown>;
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;

/** The example with every optional key, and what `edit` makes of the node at a path. */
function edited(path: readonly (string | number)[], edit: (parent: Node, key: string | number) => void): unknown {
  const data = structuredClone(full);
  let parent: unknown = data;
  for (const key of path.slice(0, -1)) parent = isNode(parent) ? parent[key] : undefined;
  const last = path.at(-1);
  if (!isNode(parent) || last === undefined) throw new Error(`no such path: ${path.join('.')}`);
  edit(parent, last);
  return data;
}

function pathsOf(value: unknown, path: readonly (string | number)[] = []): readonly (readonly (string | number)[])[] {
  const inside = Array.isArray(value)
    ? value.flatMap((item, index) => pathsOf(item, [...path, index]))
    : isNode(value)
      ? Object.entries(value).flatMap(([key, item]) => pathsOf(item, [...path, key]))
      : [];
  return path.length > 0 ? [path, ...inside] : inside;
}

const example: unknown = new YamlSource(exampleText, {}).data;
let full = example;
for (const [path, value] of OPTIONAL) full = edited(path, (parent, key) => (parent[key] = value));

interface Sample {
  readonly name: string;
  readonly section: Section;
  readonly data: Node;
}

/** Every class that the root leads to, with the fullest data that the example has for it. */
function sectionsIn(section: Section, data: unknown): readonly Sample[] {
  const node = isNode(data) ? data : {};
  const nested = fieldsOf(section).flatMap(({ key, rule }) => {
    if (rule.kind === 'map') return sectionsIn(rule.type(), node[key]);
    const list = node[key];
    return rule.kind === 'maps' && Array.isArray(list) ? sectionsIn(rule.type(), fullest(list)) : [];
  });
  const samples = [{ name: section.name, section, data: node }, ...nested];
  return samples.filter((sample, index) => samples.findIndex((other) => other.name === sample.name) === index);
}

const fullest = (list: readonly unknown[]): unknown =>
  [...list].sort((left, right) => JSON.stringify(right).length - JSON.stringify(left).length)[0];

const disagreements = (mutants: readonly unknown[]): readonly unknown[] =>
  mutants.filter((mutant) => bySchema(mutant) !== byClasses(mutant));

describe('the generated schema', () => {
  it('is what is committed', () => {
    expect(readFileSync('config/gateway.schema.json', 'utf8')).toBe(jsonSchemaText());
  });

  it('takes the example, as written and as read, and with every optional key', () => {
    for (const data of [parse(exampleText), example, full]) {
      expect(bySchema(data)).toBe(true);
    }
    expect(byClasses(example) && byClasses(full)).toBe(true);
  });

  it.each([[null], [[]], ['text'], [1]])('refuses %j as a whole, like the classes', (data) => {
    expect([bySchema(data), byClasses(data)]).toEqual([false, false]);
  });

  it('agrees with the classes whichever key is missing', () => {
    const mutants = pathsOf(full).map((path) =>
      edited(path, (parent, key) => (Array.isArray(parent) ? parent.splice(Number(key), 1) : delete parent[key])),
    );
    expect(disagreements(mutants)).toEqual([]);
    expect(mutants.filter(byClasses).length).toBeGreaterThan(OPTIONAL.length);
    expect(mutants.filter((mutant) => !byClasses(mutant)).length).toBeGreaterThan(100);
  });

  it('agrees with the classes wherever an unknown key stands', () => {
    const maps = pathsOf(full).filter(
      (path) => isNode(edited(path, () => undefined)) && typeof path.at(-1) === 'string',
    );
    const mutants = maps.map((path) => edited(path, (parent) => (parent['unknown'] = 1)));
    expect(disagreements(mutants)).toEqual([]);
    expect(mutants.some(byClasses)).toBe(false);
  });

  it.each(sectionsIn(GatewayConfig, full))(
    'agrees with $name whatever value any of its keys has',
    ({ section, data }) => {
      const { definitions } = jsonSchema();
      const validate = new Ajv().compile({ $ref: `#/definitions/${section.name}`, definitions });
      const verdicts = fieldsOf(section).flatMap(({ key }) =>
        OTHER_VALUES.map((value) => {
          const mutant = { ...data, [key]: value };
          return {
            key,
            value,
            schema: validate(mutant),
            classes: bind(section, mutant, new Set()).findings.length === 0,
          };
        }),
      );
      expect(validate(data)).toBe(true);
      expect(verdicts.filter(({ schema, classes }) => schema !== classes)).toEqual([]);
    },
  );

  it('lets a variable stand for any scalar, since it cannot know its value', () => {
    expect(bySchema(edited(['server', 'replicas'], (parent, key) => (parent[key] = '${REPLICAS}')))).toBe(true);
    expect(bySchema(edited(['server', 'replicas'], (parent, key) => (parent[key] = '$REPLICAS')))).toBe(false);
  });
});
