import fc from 'fast-check';
import { foldStream } from '../../../../test/support/fold-stream.js';
import { objectOr } from '../../../../test/support/json.js';
import {
  framesOf as messageFramesOf,
  renderedMessages,
  rendering as messageRendering,
} from '../../../../test/support/rendered-messages.js';
import {
  framesOf as responseFramesOf,
  renderedResponse,
  rendering as responseRendering,
} from '../../../../test/support/rendered-responses.js';
import { delta, DONE, official, rendered, terms, text } from '../../../../test/support/rendered-stream.js';
import type { Rendering } from '../../../common/rendering.js';
import { OpenAiRendering } from './openai/open-ai-rendering.js';

/** A call as its client reads it. */
interface ReadCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}
type Dialect = 'chat' | 'messages' | 'responses';

const DIALECTS: readonly Dialect[] = ['chat', 'messages', 'responses'];
const JSON_TYPE = { 'content-type': 'application/json' };
type Block = { type: string; id: string; call_id: string; name: string; input: unknown; arguments: string };

const readBlocks = (blocks: unknown): ReadCall[] =>
  (blocks as Block[]).filter(({ type }) => type === 'tool_use').map(({ id, name, input }) => ({ id, name, input }));
const readItems = (items: unknown): ReadCall[] =>
  (items as Block[])
    .filter(({ type }) => type === 'function_call')
    .map(({ call_id: id, name, arguments: input }) => ({ id, name, input: JSON.parse(input) as unknown }));
const readChat = (calls: unknown): ReadCall[] =>
  (calls as { id: string; function: { name: string; arguments: string } }[]).map(({ id, function: fn }) => ({
    id,
    name: fn.name,
    input: JSON.parse(fn.arguments) as unknown,
  }));

/** What a client reads out of the bytes of a stream. */
async function readStream(dialect: Dialect, bytes: Uint8Array): Promise<ReadCall[]> {
  if (dialect === 'messages') return readBlocks(foldStream('anthropic', messageFramesOf(bytes))['content']);
  if (dialect === 'responses')
    return readItems(objectOr(objectOr(responseFramesOf(bytes).at(-1)?.data)['response'])['output']);
  return readChat((await official(text(bytes))).choices[0]?.message.tool_calls);
}

/** The calls that come out of a stream with these deltas. */
function streamed(dialect: Dialect, deltas: readonly object[]): Promise<ReadCall[]> {
  const pieces = [...deltas.map((each) => delta(each)), delta({}, 'tool_calls'), DONE];
  if (dialect === 'messages') return readStream(dialect, renderedMessages(pieces));
  return readStream(dialect, dialect === 'chat' ? Buffer.from(rendered(pieces)) : renderedResponse(pieces));
}

/** A rendering of an answer that comes whole. */
function renderingOf(dialect: Dialect, stream: boolean): Rendering {
  const one = {
    chat: () => new OpenAiRendering(terms({ stream })),
    messages: () => messageRendering({ stream }),
    responses: () => responseRendering({ stream }),
  }[dialect]();
  one.begin(200, JSON_TYPE);
  return one;
}

const answerOf = (calls: readonly object[]): Buffer => {
  const message = { role: 'assistant', content: null, tool_calls: calls };
  return Buffer.from(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }));
};

/** The calls that come out of a whole answer, asked for as one. */
function whole(dialect: Dialect, calls: readonly object[]): ReadCall[] {
  const out = JSON.parse(text(renderingOf(dialect, false).whole(answerOf(calls)).body)) as Record<string, unknown>;
  if (dialect === 'messages') return readBlocks(out['content']);
  if (dialect === 'responses') return readItems(out['output']);
  const [choice] = out['choices'] as { message: { tool_calls: unknown } }[];
  return readChat(choice?.message.tool_calls);
}

const NAMED = [
  { name: 'a', input: { x: 1 } },
  { name: 'b', input: { y: 2 } },
];
const [first, second] = NAMED.map(({ name, input }) => ({
  type: 'function',
  function: { name, arguments: JSON.stringify(input) },
}));
const again = { type: 'function', function: { name: 'a', arguments: '{"x":2}' } };

describe.each(DIALECTS)('calls side by side (%s)', (dialect) => {
  it.each<[string, object[], object[]]>([
    ['in one delta, with neither index nor id', [{ tool_calls: [first, second] }], NAMED],
    ['in one delta, all at index 0', [{ tool_calls: [first, second].map((one) => ({ index: 0, ...one })) }], NAMED],
    ['in two deltas, all at index 0', [first, second].map((one) => ({ tool_calls: [{ index: 0, ...one }] })), NAMED],
    [
      'at their own indexes, with one id',
      [first, second].map((one, index) => ({ tool_calls: [{ index, id: 'call_0', ...one }] })),
      NAMED,
    ],
    [
      'of one tool, with neither index nor id',
      [{ tool_calls: [first, again] }],
      [NAMED[0] ?? {}, { name: 'a', input: { x: 2 } }],
    ],
    [
      'with an id that comes late',
      [
        { tool_calls: [{ index: 0, function: { name: 'a', arguments: '{"x":' } }] },
        { tool_calls: [{ index: 0, id: 'late', function: { arguments: '1}' } }] },
        { tool_calls: [{ index: 1, id: 'c2', ...second }] },
      ],
      NAMED,
    ],
    [
      'with a name that comes late',
      [
        { tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { arguments: '' } }] },
        { tool_calls: [{ index: 0, function: { arguments: '{"x":' } }] },
        { tool_calls: [{ index: 0, function: { name: 'a', arguments: '1}' } }] },
        { tool_calls: [{ index: 1, id: 'c2', ...second }] },
      ],
      NAMED,
    ],
    [
      'that repeat their id under a wrong index',
      [
        { tool_calls: [{ index: 0, id: 'c1', function: { name: 'a', arguments: '{"x":' } }] },
        { tool_calls: [{ index: 3, id: 'c1', function: { arguments: '1}' } }] },
        { tool_calls: [{ index: 1, id: 'c2', ...second }] },
      ],
      NAMED,
    ],
    [
      'that repeat their id and name in each fragment',
      [
        { tool_calls: [{ index: 0, id: 'c1', function: { name: 'a', arguments: '{"x":' } }] },
        { tool_calls: [{ index: 0, id: 'c1', function: { name: 'a', arguments: '1}' } }] },
        { tool_calls: [{ index: 0, id: 'c1', function: { name: 'a', arguments: '' } }] },
        { tool_calls: [{ index: 1, id: 'c2', ...second }] },
      ],
      NAMED,
    ],
  ])('are told apart %s', async (_, deltas, expected) => {
    expect(await streamed(dialect, deltas)).toMatchObject(expected);
  });

  it('of a whole answer are one call each, whatever their ids and indexes are', () => {
    const ids = fc.constantFrom({}, { id: '' }, { id: null }, { id: 'call_0' }, { id: 'call_1' });
    const indexes = fc.constantFrom({}, { index: 0 }, { index: 1 });
    const names = fc.constantFrom('a', 'b');
    fc.assert(
      fc.property(fc.array(fc.tuple(ids, indexes, names), { maxLength: 5 }), (all) => {
        const calls = all.map(([id, index, name], x) => {
          return { ...id, ...index, function: { name, arguments: JSON.stringify({ x }) } };
        });
        const read = whole(dialect, calls);
        expect(read).toMatchObject(all.map(([, , name], x) => ({ name, input: { x } })));
        // Chat hands on the ids that an engine gave; elsewhere results would find two calls.
        if (dialect !== 'chat') expect(new Set(read.map(({ id }) => id)).size).toBe(all.length);
        expect(read.every(({ id }) => id !== '')).toBe(true);
      }),
    );
  });

  it('of a whole answer to a client that reads a stream are one each too', async () => {
    const answer = answerOf([first ?? {}, again, { ...again, id: 'i', index: 0 }]);
    const read = await readStream(dialect, renderingOf(dialect, true).whole(answer).body);
    expect(read.map(({ name, input }) => [name, input])).toEqual([1, 2, 2].map((x) => ['a', { x }]));
  });
});

it('chat leaves indexes and ids as the engine gave them where they tell calls apart', () => {
  const pieces = [first, second].map((one, index) =>
    delta({ role: 'assistant', tool_calls: [{ index, id: 'call_0', ...one }] }),
  );
  expect(rendered([...pieces, DONE])).toBe(pieces.join('') + DONE);
});

it.each(['messages', 'responses'] as const)('%s has an id of its own for each call', async (dialect) => {
  const deltas = [first, second].map((one, index) => ({ tool_calls: [{ index, id: 'call_0', ...one }] }));
  const ids = (await streamed(dialect, deltas)).map(({ id }) => id);
  expect(ids[0]).toBe('call_0');
  expect(ids[1]).not.toBe('call_0');
});
