import { DONE, frames, official, terms, text, USAGE } from '../../../../../test/support/rendered-stream.js';
import type { WholeResponse } from '../../../../common/rendering.js';
import { OpenAiRendering, type OpenAiRenderingTerms } from './open-ai-rendering.js';

const JSON_HEADERS = { 'content-type': 'application/json' };

function whole(body: string, over: Partial<OpenAiRenderingTerms> = {}): WholeResponse {
  const rendering = new OpenAiRendering(terms(over));
  expect(rendering.begin(200, JSON_HEADERS)).toBe('whole');
  return rendering.whole(Buffer.from(body));
}

const answer = (message: object, more: object): string =>
  JSON.stringify({
    id: 'c',
    object: 'chat.completion',
    created: 7,
    model: 'm',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    ...more,
  });

describe('a stream that was asked for and answered whole', () => {
  const full = answer(
    {
      role: 'assistant',
      content: 'hi',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { usage: USAGE },
  );

  it('is cut into the chunks that its client can read', async () => {
    const response = whole(full, { stream: true });
    expect(response.headers).toContain('text/event-stream; charset=utf-8');
    await expect(official(text(response.body))).resolves.toMatchObject({
      choices: [
        {
          finish_reason: 'stop',
          message: { content: 'hi', tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }] },
        },
      ],
    });
    expect(frames(text(response.body))).toHaveLength(2);
    expect(frames(text(whole(full, { stream: true, usageWanted: true }).body))[1]).toMatchObject({
      choices: [],
      usage: USAGE,
    });
  });

  it('keeps the texts of completions', () => {
    const body = '{"object":"text_completion","choices":[{"text":"a","index":0,"finish_reason":"stop"}]}';
    expect(text(whole(body, { stream: true, operation: 'completions' }).body)).toBe(`data: ${body}\n\n${DONE}`);
  });

  it('says what was asked for, whatever the engine calls its answer', () => {
    const choice = { index: 0, text: 'a', finish_reason: 'stop' };
    for (const object of [undefined, 'chat.completion']) {
      const { body } = whole(JSON.stringify({ object, choices: [choice] }), { operation: 'completions' });
      expect(frames(text(body))).toEqual([{ object: 'text_completion', choices: [choice] }, '[DONE]']);
    }
    const { body } = whole(answer({ role: 'assistant', content: 'a' }, { object: 'text_completion' }));
    expect(frames(text(body))[0]).toMatchObject({
      object: 'chat.completion.chunk',
      choices: [{ delta: { content: 'a' } }],
    });
  });

  it('ends with an error event where its head is out already', () => {
    const rendering = new OpenAiRendering(terms());
    rendering.head();
    expect(rendering.begin(503, JSON_HEADERS)).toBe('whole');
    const response = rendering.whole(
      Buffer.from('{"error":{"message":"Loading model","type":"unavailable_error","code":503}}'),
    );
    expect(text(response.body)).toBe(
      'data: {"error":{"message":"Loading model (overloaded)","type":"unavailable_error","param":null,"code":503}}\n\n',
    );
    expect(rendering.failed).toBe(true);
    expect(rendering.heartbeat(false)).toBeUndefined();
  });

  it('cannot be a body of any size behind a head that is out', () => {
    const rendering = new OpenAiRendering(terms());
    rendering.head();
    rendering.begin(200, JSON_HEADERS);
    expect(text(rendering.push(Buffer.from('{"choices":[')))).toContain('"code":"upstream_invalid"');
    expect(text(rendering.push(Buffer.from('{}')))).toBe('');
    expect(rendering.failed).toBe(true);
  });
});

it('goes on under the id of a heartbeat that came first', async () => {
  const rendering = new OpenAiRendering(terms());
  const beat = text(rendering.heartbeat(true));
  rendering.begin(200, JSON_HEADERS);
  const out = beat + text(rendering.whole(Buffer.from(answer({ role: 'assistant', content: 'hi' }, {}))).body);
  expect(new Set((frames(out).slice(0, -1) as { id: string }[]).map(({ id }) => id))).toEqual(
    new Set(['chatcmpl-req-1']),
  );
  await expect(official(out)).resolves.toMatchObject({ choices: [{ message: { content: 'hi' } }] });
});

it('is upstream-invalid where the body has no list of choices', () => {
  expect(() => whole('{"choices":null}')).toThrow(expect.objectContaining({ code: 'upstream-invalid' }) as Error);
});
