import fc from 'fast-check';
import { usageFromOpenAi } from '../../../../common/canonical/usage.js';
import { readAnswer } from './read-answer.js';

const read = (value: unknown) => readAnswer(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));
const message = (more: object) => ({ choices: [{ index: 0, message: { role: 'assistant', content: 'hi', ...more } }] });

describe('readAnswer', () => {
  it.each([
    ['a chat answer', message({}), true],
    ['vectors', { object: 'list', data: [{ embedding: [1, 2] }] }, true],
    ['a ranking', { results: [] }, true],
    ['an error', { error: { message: 'choices: [1]' } }, false],
    ['an error in the old form', { object: 'error', message: '"choices":[]' }, false],
    ['choices that are no list', { choices: null }, false],
    ['choices further down', { answer: { choices: [] } }, false],
    ['an answer that also tells of an error', { choices: [], error: 'x' }, true],
  ])('tells whether it is an answer: %s', (_what, value, isAnswer) => {
    expect(read(value)?.isAnswer).toBe(isAnswer);
  });

  it.each([
    ['an object', { choices: [], error: {} }, true],
    ['a text, before the choices', { error: 'x', choices: [] }, true],
    ['null', { choices: [], error: null }, false],
    ['false', { choices: [], error: false }, false],
    ['one of a choice', { choices: [{ error: { message: 'x' } }] }, false],
    ['one in the text', message({ content: '"error":{}' }), false],
  ])('tells whether there is an error in it: %s', (_what, value, hasError) => {
    expect(read(value)?.hasError).toBe(hasError);
  });

  it.each([
    ['a message without a role', { choices: [{ message: { content: 'hi' } }] }, true],
    ['a role that is none', message({ role: null }), true],
    ['calls of tools', message({ tool_calls: [{ id: 'a' }] }), true],
    ['null for calls', message({ tool_calls: null }), false],
    ['no calls', message({ tool_calls: [] }), false],
    ['the second choice only', { choices: [{ message: { role: 'assistant' } }, { message: {} }] }, true],
    ['a text that looks like it', message({ content: '{"message":{"tool_calls":[1]}}' }), false],
    ['a completion', { choices: [{ text: 'hi' }] }, false],
  ])('tells whether it may have to be mended: %s', (_what, value, maybeAmiss) => {
    expect(read(value)?.maybeAmiss).toBe(maybeAmiss);
  });

  it.each([
    ['no JSON', 'Bad Gateway'],
    ['JSON that is no object', '[{"choices":[]}]'],
    ['an object that is cut off', '{"choices":[{"message":'],
    ['two objects', '{"choices":[]}{}'],
    ['nothing', ''],
    ['a mark before it', '\uFEFF{"choices":[]}'],
    ['a long one', `{"choices":[],"x":"${'x'.repeat(20_000)}"}`],
  ])('leaves to others what it cannot read: %s', (_what, text) => {
    expect(read(text)).toBeUndefined();
  });

  it('reads keys that are written with escapes, and the last of two', () => {
    const text =
      '{"cho\\u0069ces":[],"usage":{"prompt_tokens":1},"usage":{"pr\\u006fmpt_tokens":7,"completion_tokens":2}}';
    expect(read(text)).toEqual({
      isAnswer: true,
      hasError: false,
      maybeAmiss: false,
      usage: { promptTokens: 7, completionTokens: 2, cachedTokens: 0, reasoningTokens: 0 },
    });
  });

  it('reads the usage that a parser of the whole would find', () => {
    const number = fc.oneof(fc.nat(1e6), fc.double(), fc.integer(), fc.constantFrom(null, '7', [], true));
    const detail = (name: string) => fc.oneof(fc.record({ [name]: number, audio_tokens: number }), number);
    const usage = fc.oneof(
      fc.record(
        {
          prompt_tokens: number,
          completion_tokens: number,
          total_tokens: number,
          prompt_tokens_details: detail('cached_tokens'),
          completion_tokens_details: detail('reasoning_tokens'),
        },
        { requiredKeys: [] },
      ),
      number,
    );
    fc.assert(
      fc.property(usage, fc.jsonValue(), (usage, other) => {
        const text = JSON.stringify({ choices: [other], usage, other });
        const { usage: parsed } = JSON.parse(text) as { usage: unknown };
        expect(read(text)?.usage).toEqual(usageFromOpenAi(parsed));
      }),
    );
  });
});
