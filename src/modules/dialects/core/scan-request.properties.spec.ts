import fc from 'fast-check';
import {
  chooser,
  damaged,
  depthOf,
  renderMembers,
  tapes,
  topLevelNames,
} from '../../../../test/support/random-json.js';
import { GatewayProblem } from '../../../common/problem/gateway-problem.js';
import { MEMBER_NAMES, type MemberName } from './member-names.js';
import { scanRequest, type ScannedRequest } from './scan-request.js';

const valueOf = ({ json, member }: Pick<ScannedRequest, 'json' | 'member'>, name: MemberName): unknown => {
  const found = member(name);
  return found && JSON.parse(json.bytes.toString('utf8', found.valueStart, found.valueEnd));
};

describe('scanRequest beside JSON.parse', () => {
  const readNames = fc.constantFrom('model', 'stream', 'n', 'max_tokens', 'max_completion_tokens', 'best_of', 'tools');
  const calls = [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }, {}, null];
  const names = fc.oneof(
    readNames,
    fc.constant('messages'),
    fc.constantFrom(
      ...MEMBER_NAMES,
      'Model',
      'STREAM',
      'ſtream',
      'max_to\u212aens',
      'İnput',
      'n\u0000',
      '__proto__',
      'constructor',
      'toString',
      '',
    ),
    fc.string({ unit: 'binary' }),
  );
  const values = fc.oneof(
    fc.constantFrom<unknown[]>(
      true,
      false,
      null,
      0,
      1,
      7,
      1e21,
      'ornith:35b',
      [],
      {},
      { include_usage: true },
      ['a', 'b'],
      [[1], [2, 3]],
    ),
    fc.constant([{ role: 'developer', content: 'x' }, { content: null, role: 'assistant', tool_calls: calls }, 1]),
    fc.jsonValue({ stringUnit: 'binary' }),
  );
  const bodies = fc
    .tuple(fc.array(fc.tuple(names, values), { maxLength: 8 }), tapes)
    .map(([members, tape]) => Buffer.from(renderMembers(members, chooser(tape))));

  type Verdict = Readonly<Record<string, unknown>> | string;

  const codeOf = (run: () => Verdict): Verdict => {
    try {
      return run();
    } catch (error) {
      if (error instanceof GatewayProblem) return error.code;
      throw error;
    }
  };

  const scan = (body: Uint8Array): Verdict => {
    const { json, member, stream, includeUsage, n, bestOf, maxTokens, maxCompletionTokens, toolsEmpty } =
      scanRequest(body);
    const places = MEMBER_NAMES.map((name) => valueOf({ json, member }, name));
    return { stream, includeUsage, n, bestOf, maxTokens, maxCompletionTokens, toolsEmpty, places };
  };

  const parse = (body: Uint8Array): Verdict => {
    let text: string;
    let tree: unknown;
    try {
      text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
      tree = JSON.parse(text);
    } catch {
      return 'invalid-body';
    }
    if (typeof tree !== 'object' || tree === null || Array.isArray(tree) || depthOf(tree) > 512) return 'invalid-body';
    const fold = (name: string): string => name.toLowerCase().replaceAll('ſ', 's');
    const known = topLevelNames(text).filter((name) => MEMBER_NAMES.some((member) => member === fold(name)));
    if (new Set(known.map(fold)).size !== known.length) return 'invalid-body';
    if (known.some((name) => name !== fold(name) && fold(name) !== 'model')) return 'invalid-request';
    return fieldsOf(new Map(Object.entries(tree)));
  };

  const fieldsOf = (tree: ReadonlyMap<string, unknown>): Verdict => {
    const counts = ['n', 'best_of', 'max_tokens', 'max_completion_tokens'].map((name) => tree.get(name) ?? undefined);
    if (counts.some((count) => count !== undefined && !(Number.isSafeInteger(count) && Number(count) >= 0)))
      return 'invalid-request';
    const [n, bestOf, maxTokens, maxCompletionTokens] = counts.map((count) =>
      count === undefined ? count : Number(count) + 0,
    );
    const stream = tree.get('stream') ?? false;
    const options = tree.get('stream_options') ?? {};
    const includeUsage = (options as Record<string, unknown>)['include_usage'] ?? false;
    const format = tree.get('encoding_format') ?? '';
    const typed = [typeof stream, typeof options, Array.isArray(options), typeof includeUsage, typeof format];
    if (typed.join() !== 'boolean,object,false,boolean,string') return 'invalid-request';
    const tools = tree.get('tools');
    const toolsEmpty = Array.isArray(tools) && tools.length === 0;
    const places = MEMBER_NAMES.map((name) => tree.get(name));
    return { stream, includeUsage, n, bestOf, maxTokens, maxCompletionTokens, toolsEmpty, places };
  };

  const agrees = (body: Uint8Array): void => expect(codeOf(() => scan(body))).toEqual(codeOf(() => parse(body)));

  it('reads the same from valid objects, however they are written', () => {
    fc.assert(fc.property(bodies, agrees), { numRuns: 3_000 });
  });

  it('accepts and refuses the same damaged objects', () => {
    fc.assert(fc.property(damaged(bodies), agrees), { numRuns: 5_000 });
  });

  it('accepts and refuses the same arbitrary bytes', () => {
    const tokens = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"model"',
      '"',
      '\\',
      '0',
      '-1',
      '.5',
      'e3',
      'true',
      'null',
      ' ',
      '\n',
      'é',
    );
    const near = fc.array(tokens, { maxLength: 12 }).map((list) => Buffer.from(list.join('')));
    fc.assert(fc.property(fc.oneof(fc.uint8Array(), near), agrees), { numRuns: 5_000 });
  });

  it('agrees at every offset of the memory', () => {
    const shifted = fc
      .tuple(bodies, fc.nat(9))
      .map(([body, by]) => Buffer.concat([Buffer.alloc(by), body]).subarray(by));
    fc.assert(fc.property(shifted, agrees), { numRuns: 500 });
  });
});
