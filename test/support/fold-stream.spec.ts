import { foldStream } from './fold-stream.js';
import { readFrames } from './sse-frames.js';

const chunks = (...events: readonly unknown[]) => events.map((data) => ({ data }));
const typed = (...events: readonly { type: string; [name: string]: unknown }[]) =>
  events.map((data) => ({ event: data.type, data }));
const delta = (value: unknown, finish: unknown = null, index = 0) => ({
  choices: [{ index, delta: value, finish_reason: finish }],
});

describe('foldStream of chat', () => {
  it('puts text, usage and the end together, choice by choice', () => {
    const frames = chunks(
      delta({ role: 'assistant', content: 'b' }, null, 1),
      delta({ role: 'assistant', content: '' }),
      delta({ content: 'He' }),
      delta({ content: 'y' }, 'stop'),
      delta({}, 'length', 1),
      { choices: [], usage: { total_tokens: 3 } },
      '[DONE]',
    );
    expect(foldStream('openai-chat', frames)).toEqual({
      choices: [
        { index: 0, message: { role: 'assistant', content: 'Hey' }, finish_reason: 'stop' },
        { index: 1, message: { role: 'assistant', content: 'b' }, finish_reason: 'length' },
      ],
      usage: { total_tokens: 3 },
    });
  });

  it('puts tool calls together and leaves the content null', () => {
    const call = (part: unknown) => delta({ tool_calls: [part] });
    const frames = chunks(
      call({ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{"x"' } }),
      call({ index: 0, id: 'a', function: { name: 'f', arguments: ':1}' } }),
      call({ index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } }),
    );
    expect(foldStream('openai-chat', frames)['choices']).toEqual([
      {
        index: 0,
        message: {
          content: null,
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
            { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
          ],
        },
        finish_reason: null,
      },
    ]);
  });

  it('shows an error in the stream', () => {
    expect(foldStream('openai-chat', chunks({ error: { message: 'x' } }))).toMatchObject({ error: { message: 'x' } });
  });

  it('puts the text of completions together', () => {
    const frames = chunks(
      { choices: [{ index: 0, text: 'a', finish_reason: null }] },
      { choices: [{ index: 0, text: 'b', finish_reason: 'stop' }] },
    );
    expect(foldStream('openai-completions', frames)).toMatchObject({
      choices: [{ index: 0, text: 'ab', finish_reason: 'stop' }],
    });
  });
});

describe('foldStream of the Messages dialect', () => {
  it('puts blocks, the stop and usage together', () => {
    const frames = typed(
      { type: 'message_start', message: { id: 'm', content: [], usage: { input_tokens: 1, output_tokens: 0 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 's1' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 's2' } },
      { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'a' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'b' } },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: 5, input_tokens: null },
      },
    );
    expect(foldStream('anthropic', frames)).toEqual({
      id: 'm',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 's2' },
        { type: 'text', text: 'ab' },
      ],
      usage: { input_tokens: 1, output_tokens: 5 },
      stop_reason: 'end_turn',
      stop_sequence: null,
    });
  });

  it.each([
    [[], {}],
    [['{"a"', ':1}'], { a: 1 }],
    [['{"a'], '{"a'],
  ])('reads the input %j', (pieces, input) => {
    const frames = typed(
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 't', name: 'f', input: {} } },
      ...pieces.map((partial_json) => ({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json },
      })),
    );
    expect(foldStream('anthropic', frames)['content']).toEqual([{ type: 'tool_use', id: 't', name: 'f', input }]);
  });

  it('shows the error of an error event', () => {
    const { frames } = readFrames(Buffer.from('event: error\ndata: {"type":"error","error":{"type":"api_error"}}\n\n'));
    expect(foldStream('anthropic', frames)).toEqual({ error: { type: 'api_error' }, content: [] });
  });
});

it('folds a Responses stream to the response of the last event that carries one', () => {
  const frames = typed(
    { type: 'response.created', response: { id: 'r', output: [] } },
    { type: 'response.completed', response: { id: 'r', output: [1] } },
    { type: 'response.trailer' },
  );
  expect(foldStream('openai-responses', frames)).toEqual({ id: 'r', output: [1] });
});
