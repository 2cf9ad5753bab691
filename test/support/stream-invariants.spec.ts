import { brokenInvariant, type StreamKind } from './stream-invariants.js';
import type { SseFrame } from './sse-frames.js';

interface Typed {
  readonly type: string;
  readonly [name: string]: unknown;
}

const typed = (...events: readonly Typed[]): SseFrame[] => events.map((data) => ({ event: data.type, data }));
const chunks = (...events: readonly unknown[]): SseFrame[] => events.map((data) => ({ data }));
const without = (frames: readonly SseFrame[], position: number): SseFrame[] => frames.toSpliced(position, 1);
const replaced = (frames: readonly SseFrame[], position: number, frame: SseFrame): SseFrame[] =>
  frames.toSpliced(position, 1, frame);

/** Every fault must be seen, and with words that tell it from the others. */
function expectFault(
  kind: StreamKind,
  frames: readonly SseFrame[],
  fault: RegExp,
  outcome: 'complete' | 'error' = 'complete',
): void {
  expect(brokenInvariant(kind, frames, outcome)).toMatch(fault);
}

describe('a chat stream', () => {
  const chunk = (delta: unknown, finish: unknown = null, index: unknown = 0, id = 'c') => ({
    id,
    choices: [{ index, delta, finish_reason: finish }],
  });
  const call = (part: unknown) => ({ data: chunk({ tool_calls: [part] }) });
  const started = { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } };
  const good = chunks(chunk({ role: 'assistant', content: '' }), chunk({ content: 'x' }), chunk({}, 'stop'), '[DONE]');
  const failed = chunks(chunk({ role: 'assistant' }), { error: { message: 'x' } });

  it('keeps all rules', () => {
    expect(brokenInvariant('openai-chat', good, 'complete')).toBeUndefined();
    expect(brokenInvariant('openai-chat', good.slice(0, 2))).toBeUndefined();
    expect(brokenInvariant('openai-chat', failed, 'error')).toBeUndefined();
    const tools = [good[0], call(started), call({ index: 0, function: { arguments: '{}' } }), ...good.slice(2)];
    expect(brokenInvariant('openai-chat', tools as SseFrame[], 'complete')).toBeUndefined();
  });

  it.each<[RegExp, readonly SseFrame[]]>([
    [/choices is null/, replaced(good, 1, { data: { id: 'c', choices: null } })],
    [/the id was "c" and is "d"/, replaced(good, 1, { data: chunk({ content: 'x' }, null, 0, 'd') })],
    [/no role assistant/, without(good, 0)],
    [/no role assistant/, replaced(good, 1, { data: chunk({ content: 'x' }, null, 1) })],
    [/the role is "user"/, replaced(good, 1, { data: chunk({ role: 'user' }) })],
    [/second finish_reason/, good.toSpliced(3, 0, { data: chunk({}, 'stop') })],
    [/has no finish_reason/, without(good, 2)],
    [/did not end with \[DONE\]/, without(good, 3)],
    [/after \[DONE\]/, [...good, ...good.slice(1, 2)]],
    [/neither JSON/, replaced(good, 1, { data: '' })],
    [/leaves a gap/, replaced(good, 1, call({ ...started, index: 1 }))],
    [/index null/, replaced(good, 1, call({ ...started, index: null }))],
    [/without an id/, replaced(good, 1, call({ ...started, id: '' }))],
    [/without its type/, replaced(good, 1, call({ ...started, type: undefined }))],
    [/without a name/, replaced(good, 1, call({ ...started, function: { arguments: '' } }))],
    [/arguments are \{\}/, replaced(good, 1, call({ ...started, function: { name: 'f', arguments: {} } }))],
    [/did not end with \[DONE\]/, failed],
    [/has no choice/, chunks('[DONE]')],
  ])('is refused: %s', (fault, frames) => {
    expectFault('openai-chat', frames, fault);
  });

  it('is refused as a failed one where it ends well, or goes on behind the error', () => {
    expectFault('openai-chat', good, /did not end with an error/, 'error');
    expectFault('openai-chat', [...failed, { data: '[DONE]' }], /after error/, 'error');
  });
});

describe('a completions stream', () => {
  const good = chunks({ choices: [{ text: 'a' }] }, { choices: [] }, '[DONE]');

  it('keeps all rules', () => {
    expect(brokenInvariant('openai-completions', good, 'complete')).toBeUndefined();
    expect(brokenInvariant('openai-completions', chunks({ error: {} }), 'error')).toBeUndefined();
  });

  it.each<[RegExp, readonly SseFrame[]]>([
    [/did not end with \[DONE\]/, without(good, 2)],
    [/choices is nothing/, replaced(good, 0, { data: {} })],
    [/neither JSON/, replaced(good, 0, { data: 'x' })],
    [/after \[DONE\]/, [...good, { data: '[DONE]' }]],
  ])('is refused: %s', (fault, frames) => {
    expectFault('openai-completions', frames, fault);
  });
});

describe('a Messages stream', () => {
  const block = (index: number, type: string, deltaType: string): Typed[] => [
    { type: 'content_block_start', index, content_block: { type } },
    { type: 'content_block_delta', index, delta: { type: deltaType } },
    { type: 'content_block_stop', index },
  ];
  const end: Typed[] = [
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ];
  const start: Typed = { type: 'message_start', message: { content: [] } };
  const good = typed(start, ...block(0, 'thinking', 'signature_delta'), ...block(1, 'text', 'text_delta'), ...end);
  const failed = typed(start, { type: 'error', error: { type: 'api_error' } });

  it('keeps all rules', () => {
    expect(brokenInvariant('anthropic', good, 'complete')).toBeUndefined();
    expect(brokenInvariant('anthropic', typed(start, ...end), 'complete')).toBeUndefined();
    expect(brokenInvariant('anthropic', failed, 'error')).toBeUndefined();
    expect(brokenInvariant('anthropic', failed.slice(1), 'error')).toBeUndefined();
  });

  it.each<[RegExp, readonly SseFrame[]]>([
    [/event nothing with data of type "message_start"/, replaced(good, 0, { data: start })],
    [/\[DONE\]/, [...good.slice(0, -1), { data: '[DONE]' }]],
    [/message_start is not first/, without(good, 0)],
    [/second message_start/, replaced(good, 1, typed(start)[0] as SseFrame)],
    [/block 1, expected 0/, typed(start, ...block(1, 'text', 'text_delta'), ...end)],
    [/a block starts while another is open/, without(good, 3)],
    [/which is not open/, without(good, 1)],
    [/a "text_delta" in a thinking block/, typed(start, ...block(0, 'thinking', 'text_delta'), ...end)],
    [/message_delta while a block is open/, without(good, 6)],
    [/second message_delta/, good.toSpliced(8, 0, good[7] as SseFrame)],
    [/a block after message_delta/, [...good.slice(0, 8), ...typed(...block(2, 'text', 'text_delta'))]],
    [/without a message_delta/, without(good, 7)],
    [/without a stop_reason/, typed(start, { type: 'message_delta', delta: {}, usage: { output_tokens: 1 } })],
    [/without usage.output_tokens/, typed(start, { type: 'message_delta', delta: { stop_reason: 'end_turn' } })],
    [/did not end with message_stop/, without(good, 8)],
    [/after message_stop/, [...good, ...typed({ type: 'error' })]],
    [/did not end with message_stop/, failed],
  ])('is refused: %s', (fault, frames) => {
    expectFault('anthropic', frames, fault);
  });

  it('is refused as a failed one where it ends well', () => {
    expectFault('anthropic', good, /did not end with an error event/, 'error');
  });
});

describe('a Responses stream', () => {
  const numbered = (...events: readonly Typed[]) =>
    typed(...events.map((event, position) => ({ sequence_number: position, ...event })));
  const response = { id: 'r' };
  const at = { output_index: 0, item_id: 'm' };
  const created: Typed = { type: 'response.created', response };
  const added: Typed = { type: 'response.output_item.added', output_index: 0, item: { id: 'm', type: 'message' } };
  const part: Typed = { type: 'response.content_part.added', ...at, content_index: 0 };
  const delta: Typed = { type: 'response.output_text.delta', ...at, content_index: 0 };
  const done: Typed = { type: 'response.output_item.done', output_index: 0, item: { id: 'm' } };
  const completed: Typed = { type: 'response.completed', response };
  const good = [created, added, part, delta, done, completed];

  it('keeps all rules', () => {
    expect(brokenInvariant('responses', numbered(...good), 'complete')).toBeUndefined();
    const failed = numbered(created, added, { type: 'response.failed', response });
    expect(brokenInvariant('responses', failed, 'error')).toBeUndefined();
  });

  it.each<[RegExp, readonly Typed[]]>([
    [/the first event is/, good.slice(1)],
    [/sequence_number 9/, [created, { ...added, sequence_number: 9 }]],
    [/response id changed/, [created, { ...completed, response: { id: 's' } }]],
    [/output_index 1, expected 0/, [created, { ...added, output_index: 1 }]],
    [/which was not added/, [created, part]],
    [/which was not added/, [created, added, delta]],
    [/the event names "n"/, [created, added, { ...part, item_id: 'n' }]],
    [/added twice/, [created, added, part, part]],
    [/which was done/, [created, added, part, done, delta]],
    [
      /arguments for an item of type "message"/,
      [created, added, { type: 'response.function_call_arguments.delta', ...at }],
    ],
    [/after response.completed/, [...good, completed]],
    [/item 0 was not done/, [created, added, completed]],
    [/ended with nothing/, [created]],
    [/ended with "error"/, [created, { type: 'error' }]],
  ])('is refused: %s', (fault, events) => {
    expectFault('responses', numbered(...events), fault);
  });
});
