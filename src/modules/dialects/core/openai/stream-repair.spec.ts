import { readFileSync } from 'node:fs';
import {
  chunk,
  cutAt,
  delta,
  DONE,
  official,
  rendered,
  streaming,
  text,
  USAGE,
} from '../../../../../test/support/rendered-stream.js';

describe('repairs of a stream', () => {
  it('gives the first delta of each choice its role, and leaves the bytes around it', () => {
    const out = rendered([delta({ content: 'a' }), delta({ content: 'b' }, null, 1), delta({ content: 'c' }), DONE], {
      choices: 2,
    });
    expect(out).toBe(
      delta({ role: 'assistant', content: 'a' }) +
        delta({ role: 'assistant', content: 'b' }, null, 1) +
        delta({ content: 'c' }) +
        DONE,
    );
  });

  it('puts a role in place of null, and makes a delta where there is none', () => {
    expect(rendered([delta({ role: null, content: 'a' }), DONE])).toBe(
      delta({ role: 'assistant', content: 'a' }) + DONE,
    );
    expect(rendered([chunk([{ index: 0, finish_reason: 'stop' }]), DONE])).toBe(
      chunk([{ delta: { role: 'assistant' }, index: 0, finish_reason: 'stop' }]) + DONE,
    );
  });

  it('keeps numbers and unknown members of a mended event as they were written', () => {
    const odd =
      'data: {"id":"c", "x":1.50, "n":12345678901234567890, "choices":[{"index":0,"delta":{"content":"a"}}]}\n\n';
    expect(rendered([odd, DONE])).toBe(odd.replace('{"content"', '{"role":"assistant","content"') + DONE);
  });

  it('makes choices an array', () => {
    expect(rendered([delta({ role: 'assistant' }), chunk(null), 'data: {"id":"c-1"}\n\n', DONE])).toBe(
      `${delta({ role: 'assistant' })}${chunk([])}data: {"choices":[],"id":"c-1"}\n\n${DONE}`,
    );
  });

  it('keeps the usage chunk back from a client that did not ask, and reads it', () => {
    const rendering = streaming();
    rendering.push(Buffer.from(delta({ role: 'assistant', content: 'a' }, 'stop')));
    expect(text(rendering.push(Buffer.from(chunk([], { usage: USAGE }))))).toBe('');
    expect(rendering.usage).toEqual({ promptTokens: 2, completionTokens: 3, cachedTokens: 0, reasoningTokens: 0 });
  });

  it('passes the usage chunk to a client that asked', () => {
    const stream = delta({ role: 'assistant', content: 'a' }, 'stop') + chunk([], { usage: USAGE }) + DONE;
    expect(rendered([stream], { usageWanted: true, usageAdded: false })).toBe(stream);
  });

  it('takes the usage that it asked for itself out of a chunk with choices', () => {
    const last = chunk([{ index: 0, delta: { role: 'assistant' }, finish_reason: 'stop' }], { usage: USAGE });
    expect(rendered([last, DONE])).toBe(
      chunk([{ index: 0, delta: { role: 'assistant' }, finish_reason: 'stop' }]) + DONE,
    );
    expect(rendered([last, DONE], { usageAdded: false })).toBe(last + DONE);
  });

  it('drops frames without data, which break official clients, and passes comments', () => {
    expect(rendered([delta({ role: 'assistant' }, 'stop'), ': hi\n\n', 'event: ping\n\n', 'data: \n\n', DONE])).toBe(
      `${delta({ role: 'assistant' }, 'stop')}: hi\n\n${DONE}`,
    );
  });

  it('reads a chunk that is spread over several data lines', () => {
    const spread = 'data: {"choices":[{"index":0,\ndata: "delta":{"content":"a"}}]}\n\n';
    expect(rendered([spread, DONE])).toBe(
      `data: {"choices":[{"index":0,\ndata: "delta":{"role":"assistant","content":"a"}}]}\n\n${DONE}`,
    );
  });

  it('passes an event too large to hold as it is, and goes on behind it', () => {
    const large = delta({ content: 'x'.repeat(300 * 1024) });
    const stream = large + delta({ content: 'y' }) + delta({}, 'stop') + DONE;
    const out = rendered(cutAt(Buffer.from(stream), [1000, 280 * 1024, 300 * 1024]));
    expect(out).toBe(large + delta({ role: 'assistant', content: 'y' }) + delta({}, 'stop') + DONE);
  });

  it('mends nothing in completions but usage and the end', () => {
    const piece = 'data: {"object":"text_completion","choices":[{"text":"a","index":0,"finish_reason":"stop"}]}\n\n';
    const usage = 'data: {"object":"text_completion","choices":[],"usage":{"prompt_tokens":1}}\n\n';
    expect(rendered([piece, usage], { operation: 'completions' })).toBe(piece + DONE);
  });

  it.each([
    [
      'openai',
      [
        delta({ content: 'x' }),
        chunk(null),
        delta({ tool_calls: [{ function: { name: 'f', arguments: {} } }] }, 'stop'),
        DONE,
      ],
    ],
  ] as const)('is not mended for a strict engine (%s)', (engine, pieces) => {
    expect(rendered(pieces, { engine })).toBe(pieces.join(''));
  });
});

describe('errors of the engine in a stream', () => {
  it.each([
    [
      'an object',
      '{"error":{"message":"no room","type":"internal","code":500}}',
      { message: 'no room (server_error)', type: 'internal', param: null, code: 500 },
    ],
    [
      'a text',
      '{"error":"no room"}',
      { message: 'no room (server_error)', type: 'server_error', param: null, code: null },
    ],
    [
      'a flat one',
      '{"object":"error","message":"too hot","type":"BadRequestError","param":"temperature","code":400}',
      { message: 'too hot', type: 'BadRequestError', param: 'temperature', code: 400 },
    ],
    [
      'a detail',
      '{"detail":[{"loc":["body","n"],"msg":"is no number"}]}',
      { message: 'n: is no number (server_error)', type: 'server_error', param: null, code: null },
    ],
    [
      'an overflow',
      '{"error":{"message":"maximum context length is 8","code":400}}',
      {
        message: 'maximum context length is 8',
        type: 'invalid_request_error',
        param: null,
        code: 'context_length_exceeded',
      },
    ],
  ])('become one event (%s), and nothing follows', (_shape, json, error) => {
    const rendering = streaming();
    const first = delta({ role: 'assistant', content: 'a' });
    const out = text(rendering.push(Buffer.from(`${first}data: ${json}\n\n${DONE}`)));
    expect(out).toBe(`${first}data: ${JSON.stringify({ error })}\n\n`);
    expect(text(rendering.push(Buffer.from(DONE)))).toBe('');
    expect(text(rendering.end())).toBe('');
    expect(rendering.failed).toBe(true);
    expect(rendering.heartbeat(true)).toBeUndefined();
  });

  it('are known by the name of the event too', () => {
    expect(rendered(['event: error\ndata: {"message":"gone"}\n\n'])).toBe(
      'data: {"error":{"message":"gone (server_error)","type":"server_error","param":null,"code":null}}\n\n',
    );
  });

  it('throw in the official client', async () => {
    await expect(
      official(rendered([delta({ role: 'assistant', content: 'a' }), 'data: {"error":"no room"}\n\n', DONE])),
    ).rejects.toThrow('no room');
  });
});

it('reads usage that the client asked for too', () => {
  const rendering = streaming({ usageWanted: true, usageAdded: false });
  rendering.push(Buffer.from(delta({ role: 'assistant', content: 'a' }, 'stop') + chunk([], { usage: USAGE }) + DONE));
  expect(rendering.usage).toMatchObject({ promptTokens: 2, completionTokens: 3 });
});

interface ConformanceCase {
  readonly id: string;
  readonly request: { readonly body: { readonly stream_options?: { readonly include_usage?: boolean } } };
  readonly upstream: { readonly engine: 'vllm' | 'ollama' | 'openai'; readonly sse?: readonly string[] };
}

const cases = (
  JSON.parse(
    readFileSync(new URL('../../../../../test/conformance/cases/openai-chat.json', import.meta.url), 'utf8'),
  ) as {
    cases: ConformanceCase[];
  }
).cases.filter((found) => found.upstream.sse !== undefined);

describe('the conformance cases', () => {
  const run = ({ request, upstream }: ConformanceCase): string => {
    const usageWanted = request.body.stream_options?.include_usage === true;
    return rendered(upstream.sse ?? [], { engine: upstream.engine, usageWanted, usageAdded: !usageWanted });
  };
  const byId = (id: string): ConformanceCase => {
    const found = cases.find((one) => one.id === id);
    if (found === undefined) throw new Error(`no case ${id}`);
    return found;
  };

  it.each(cases.map((one) => [one.id, one] as const))('%s is accepted by the official client', async (_id, one) => {
    await expect(official(run(one))).resolves.toMatchObject({ id: 'chatcmpl-71' });
  });

  it('give role and text, and no usage that nobody asked for', async () => {
    const answer = await official(run(byId('openai-chat-stream-role-and-usage-hygiene')));
    expect(answer.usage).toBeUndefined();
    expect(answer.choices).toMatchObject([
      { message: { role: 'assistant', content: 'Fair winds' }, finish_reason: 'stop' },
    ]);
  });

  it('give two whole tool calls', async () => {
    const answer = await official(run(byId('openai-chat-stream-tool-delta-repair')));
    expect(answer.usage).toMatchObject({ total_tokens: 18 });
    expect(answer.choices[0]?.message.tool_calls).toMatchObject([
      {
        id: expect.stringMatching(/^call_[0-9a-f]{24}$/) as unknown,
        type: 'function',
        function: { name: 'lookup_tide', arguments: '{"harbour":"Skag"}' },
      },
      { id: 'call_s2', type: 'function', function: { name: 'lookup_tide', arguments: '{"harbour":"Orrin"}' } },
    ]);
  });
});
