import fc from 'fast-check';
import { chooser, renderMembers, tapes, type Members } from '../../../../../test/support/random-json.js';
import { ENGINE_KINDS, type EngineKind } from '../../../../common/config/upstreams.config.js';
import { askForUsage } from './ask-for-usage.js';
import { forceModel } from './force-model.js';
import { isObject, parsedJson, type JsonObject } from '../json-value.js';
import { repairRequest } from './repair-request.js';
import { scanRequest } from '../scan-request.js';
import { spliceBody } from './splice-body.js';

const SELF_HOSTED: readonly EngineKind[] = ['vllm', 'sglang', 'llamacpp', 'ollama'];

/** Replaces members of a copy; undefined takes one out. */
const changed = (object: JsonObject, changes: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries({ ...object, ...changes }).filter(([, value]) => value !== undefined));

function repairedTree(engine: EngineKind, tree: JsonObject): JsonObject {
  if (tree['messages'] === undefined) return tree;
  const messages = tree['messages'];
  let result = changed(tree, {
    messages: Array.isArray(messages) ? messages.map((one) => repairedMessage(engine, one)) : messages,
  });
  const { tools, max_completion_tokens: limit } = tree;
  const noTools = Array.isArray(tools) && tools.length === 0;
  if (noTools && (SELF_HOSTED.includes(engine) || engine === 'openai')) {
    result = changed(result, { tools: undefined, tool_choice: undefined, parallel_tool_calls: undefined });
  }
  if (engine === 'vllm' && (tools ?? null) === null && result['tool_choice'] !== null) {
    result = changed(result, { tool_choice: undefined });
  }
  if (engine === 'ollama' && 'max_completion_tokens' in tree) {
    result = changed(result, { max_completion_tokens: undefined, ...(limit === null ? {} : { max_tokens: limit }) });
  }
  return result;
}

function repairedMessage(engine: EngineKind, message: unknown): unknown {
  if (!isObject(message) || !SELF_HOSTED.includes(engine)) return message;
  const { role, content, tool_calls: calls } = message;
  let result = message;
  if (role === 'developer') result = changed(result, { role: 'system' });
  if (!Array.isArray(calls)) return result;
  if (engine === 'ollama' && role === 'assistant' && content === null) result = changed(result, { content: '' });
  return changed(result, { tool_calls: calls.map(repairedCall) });
}

function repairedCall(call: unknown): unknown {
  if (!isObject(call) || !isObject(call['function']) || !('arguments' in call['function'])) return call;
  return changed(call, {
    function: changed(call['function'], { arguments: repairedArguments(call['function']['arguments']) }),
  });
}

function repairedArguments(given: unknown): string {
  if (given === null || (typeof given === 'string' && (given.trim() === '' || parsedJson(given) === null))) return '{}';
  if (typeof given !== 'string') return JSON.stringify(isObject(given) ? given : { raw: JSON.stringify(given) });
  return isObject(parsedJson(given)) ? given : JSON.stringify({ raw: given });
}

/** Arguments as the values that they say, since the text of an object keeps its own white space and escapes. */
const readable = (tree: unknown): unknown =>
  JSON.parse(JSON.stringify(tree), (key, value: unknown) => {
    if (key !== 'arguments' || typeof value !== 'string') return value;
    const said = parsedJson(value);
    return isObject(said) ? { said: changed(said, { raw: parsedJson(String(said['raw'])) ?? said['raw'] }) } : value;
  });

const given = fc.oneof(
  fc.constantFrom<unknown[]>('{}', '{"a":1}', '', ' ', 'null', 'ls', '[1]', '"x"', '{"a":', null, {}, [1], 7, false),
  fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 }),
  fc.string({ unit: 'binary' }),
);
const call = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      id: fc.string(),
      function: fc.record({ name: fc.string(), arguments: given }, { requiredKeys: [] }),
    }),
  },
  fc.constantFrom<unknown[]>(null, 7, {}, { function: null }, { arguments: '' }),
);
const message = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record(
      {
        role: fc.constantFrom('developer', 'system', 'user', 'assistant', 'assistant', 'tool'),
        content: fc.oneof(
          fc.constant(null),
          fc.string({ unit: 'binary' }),
          fc.constant([{ type: 'text', text: 'developer' }]),
        ),
        tool_calls: fc.oneof(fc.constant(null), fc.array(call, { maxLength: 3 })),
        name: fc.constantFrom('developer', 'arguments', 'x'),
      },
      { requiredKeys: [] },
    ),
  },
  fc.jsonValue({ maxDepth: 1 }),
);
const count = fc.oneof(fc.constant(null), fc.nat(99));
const options = fc.constantFrom<unknown[]>(
  null,
  {},
  { include_usage: false },
  { include_usage: true },
  { x: 1 },
  { x: [], include_usage: null },
);
const bodies = fc
  .tuple(
    fc.record(
      {
        model: fc.constantFrom('m', 'ornith:35b', null, 7),
        messages: fc.oneof({ weight: 9, arbitrary: fc.array(message, { maxLength: 4 }) }, fc.constant('none')),
        stream: fc.constantFrom(true, false, null),
        stream_options: options,
        tools: fc.constantFrom<unknown[]>([], [], [{ type: 'function' }], null),
        tool_choice: fc.constantFrom<unknown[]>('auto', 'none', null, { type: 'function' }),
        parallel_tool_calls: fc.boolean(),
        max_tokens: count,
        max_completion_tokens: count,
        seed: fc.double({ noNaN: true, noDefaultInfinity: true }),
      },
      { requiredKeys: [] },
    ),
    fc.infiniteStream(fc.nat(1_000)),
    tapes,
  )
  .map(([record, order, tape]) => {
    const members: Members = Object.entries(record)
      .map((entry) => ({ entry, rank: order.next().value ?? 0 }))
      .toSorted((a, b) => a.rank - b.rank)
      .map(({ entry }) => entry);
    return Buffer.from(renderMembers(members, chooser(tape)));
  });
const engines = fc.constantFrom(...ENGINE_KINDS);
const treeOf = (body: Buffer): JsonObject => JSON.parse(body.toString()) as JsonObject;

describe('repairRequest beside the same repair of a tree', () => {
  it('gives the same request, and the same bytes where nothing was wrong', () => {
    fc.assert(
      fc.property(engines, bodies, (engine, body) => {
        const tree = treeOf(body);
        const expected = repairedTree(engine, tree);
        const result = spliceBody(body, repairRequest(engine, 'chat', scanRequest(body)));
        expect(readable(treeOf(result))).toEqual(readable(expected));
        if (JSON.stringify(expected) === JSON.stringify(tree)) expect(result).toBe(body);
      }),
      { numRuns: 3_000 },
    );
  });

  it('finds nothing left to do in what it has repaired', () => {
    fc.assert(
      fc.property(engines, bodies, (engine, body) => {
        const result = spliceBody(body, repairRequest(engine, 'chat', scanRequest(body)));
        expect(repairRequest(engine, 'chat', scanRequest(result))).toEqual([]);
      }),
    );
  });

  it('fits into one splice with a forced model and a demand for usage', () => {
    fc.assert(
      fc.property(engines, bodies, (engine, body) => {
        const scan = scanRequest(body);
        const edits = [...forceModel(scan, 'forced'), ...askForUsage(scan), ...repairRequest(engine, 'chat', scan)];
        const result = spliceBody(body, edits);
        const again = scanRequest(result);
        const options = treeOf(body)['stream_options'];
        const stream = treeOf(body)['stream'] === true;
        const usage = stream ? { stream_options: { ...(isObject(options) ? options : {}), include_usage: true } } : {};
        const expected = { ...repairedTree(engine, treeOf(body)), model: 'forced', ...usage };
        expect(readable(treeOf(result))).toEqual(readable(expected));
        expect(again.includeUsage || !again.stream).toBe(true);
      }),
      { numRuns: 3_000 },
    );
  });
});
