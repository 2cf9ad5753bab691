import type { OperationConfig } from './operations.config.js';
import { RoutingTable, type RoutingSections } from './routing-table.js';
import type { UpstreamConfig } from './upstreams.config.js';

const upstream = (name: string): UpstreamConfig => ({
  name,
  url: `http://${name}`,
  discover: 'single',
  engine: 'vllm',
  connections: 8,
  slots: { limit: 4, perEndpoint: 4 },
});

const operation = (path: string): OperationConfig => ({
  path,
  timeouts: { connectMs: 1, readMs: 1, writeMs: 1 },
  maxBodyBytes: 1,
  scope: 'llm:chat',
});

const sections: RoutingSections = {
  upstreams: [upstream('big'), upstream('small')],
  models: [
    { id: 'alpha', upstream: 'big', operations: ['chat', 'completions'], contextLength: 100 },
    { id: 'beta/b:1', upstream: 'small', operations: ['chat'], contextLength: 50 },
  ],
  operations: {
    chat: operation('/chat'),
    completions: operation('/completions'),
    embeddings: operation('/embeddings'),
    rerank: operation('/rerank'),
  },
  aliases: [{ path: '/v1/a/chat/completions', operation: 'chat', model: 'alpha' }],
};
const table = new RoutingTable(sections);

it('follows the references of a model', () => {
  expect(table.model('beta/b:1')).toEqual({
    id: 'beta/b:1',
    operations: new Set(['chat']),
    upstream: sections.upstreams[1],
    contextLength: 50,
  });
  expect(table.models.map((model) => model.id)).toEqual(['alpha', 'beta/b:1']);
});

it.each(['__proto__', 'constructor', 'toString', 'ALPHA', ''])('knows no model %j', (id) => {
  expect(table.model(id)).toBeUndefined();
});

it('lists the models of an operation in their order', () => {
  expect(table.modelsFor('chat')).toEqual(['alpha', 'beta/b:1']);
  expect(table.modelsFor('completions')).toEqual(['alpha']);
  expect(table.modelsFor('rerank')).toEqual([]);
});

it('hands the sections on as they are', () => {
  expect(table.operation('rerank')).toBe(sections.operations.rerank);
  expect(table.upstream('big')).toBe(sections.upstreams[0]);
  expect([table.upstreams, table.aliases]).toEqual([sections.upstreams, sections.aliases]);
});

it('does not start with a model of an upstream that is not there', () => {
  const dangling = { ...sections, upstreams: [upstream('big')] };
  expect(() => new RoutingTable(dangling)).toThrow('no upstream is named "small"');
});
