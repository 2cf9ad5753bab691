import fc from 'fast-check';
import {
  cutAt,
  delta,
  DONE,
  chunk,
  frames,
  official,
  rendered,
  SSE,
  streaming,
  terms,
  text,
  USAGE,
} from '../../../../../test/support/rendered-stream.js';
import { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import { OpenAiRendering } from './open-ai-rendering.js';

describe('a stream that needs nothing', () => {
  const good = [delta({ role: 'assistant', content: '' }), delta({ content: 'Fair' }), delta({}, 'stop'), DONE];

  it('passes piece by piece as the very same objects', () => {
    const rendering = streaming();
    for (const piece of good.map((event) => Buffer.from(event))) expect(rendering.push(piece)).toBe(piece);
    expect(text(rendering.end())).toBe('');
    expect(rendering.failed).toBe(false);
  });

  it('passes a piece that holds several events as the same object', () => {
    const rendering = streaming();
    const piece = Buffer.from(good.join(''));
    expect(rendering.push(piece)).toBe(piece);
  });

  it('says when content has begun, and not before', () => {
    const rendering = streaming();
    rendering.push(Buffer.from(delta({ role: 'assistant', content: '' })));
    expect(rendering.contentSeen).toBe(false);
    rendering.push(Buffer.from(delta({ reasoning_content: 'hm' })));
    expect(rendering.contentSeen).toBe(true);
  });

  it.each([
    ['\r\n', ': ping\r\n\r\n'],
    ['\r', ': ping\r\r'],
    ['\n', ':\n\n'],
  ])('keeps its line ends %j, comments and byte order mark, however it is cut', (lineEnd, comment) => {
    const stream = `\uFEFF${good.slice(0, 2).join('')}${comment}data:${good.slice(2).join('').slice(5)}`.replaceAll(
      '\n\n',
      lineEnd + lineEnd,
    );
    const bytes = Buffer.from(stream);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 8 }), (cuts) => {
        expect(rendered(cutAt(bytes, cuts))).toBe(stream);
      }),
    );
  });
});

describe('what a real engine wrote (recorded from llama.cpp)', () => {
  const base =
    '"created":1795995390,"id":"chatcmpl-giMk7YsTUlhB7TsTYUPAZ6WJwaF984OS","model":"slow","system_fingerprint":"b1-5b4ebc5","object":"chat.completion.chunk"';
  const pieces = [
    ':\n\n',
    ':\n\n',
    `data: {"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],${base}}\n\ndata: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":"The"}}],${base}}\n\n`,
    `data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":" gateway"}}],${base}}\n\n`,
  ];
  const finish = `data: {"choices":[{"finish_reason":"length","index":0,"delta":{}}],${base}}\n\n`;
  const usage = `data: {"choices":[],${base},"usage":{"completion_tokens":3,"prompt_tokens":318,"total_tokens":321,"prompt_tokens_details":{"cached_tokens":5}},"timings":{"cache_n":5,"prompt_ms":3308.423}}\n\n`;

  it('passes as it came, pings before the first token included, but for the usage', () => {
    const stream = pieces.join('') + finish + DONE;
    expect(rendered([...pieces, finish + usage, DONE], { engine: 'llamacpp' })).toBe(stream);
    const asked = { engine: 'llamacpp', usageWanted: true, usageAdded: false } as const;
    expect(rendered([...pieces, finish + usage, DONE], asked)).toBe(pieces.join('') + finish + usage + DONE);
  });

  it('is a failed answer where the engine was stopped in the middle', async () => {
    await expect(official(rendered(pieces, { engine: 'llamacpp' }))).rejects.toThrow('The engine broke off');
  });
});

/** Every rule at once: what a piece of any size must not change. */
const TROUBLED = [
  ': ping\r\n\r\n',
  delta({ content: 'Grüße 🌊' }),
  chunk(null),
  delta({ tool_calls: [{ function: { name: 'lookup', arguments: { a: 1.0, b: '"' } } }] }).replaceAll(
    '\n\n',
    '\r\n\r\n',
  ),
  delta({ tool_calls: [{ index: 0, id: 'x', function: { name: 'lookup', arguments: '{}' } }] }),
  'event: ping\ndata:\n\n',
  'event: note\r\r',
  chunk([], { usage: USAGE }).replaceAll('\n\n', '\r\n\r\n'),
  delta({}, 'tool_calls'),
  'data:  [DONE] \r\n\r\n',
  'data: {"late":1}\n\n',
].join('');

it('gives the same bytes however the engine cuts its own', () => {
  const bytes = Buffer.from(TROUBLED);
  const whole = rendered([bytes]);
  expect(frames(whole).at(-1)).toBe('[DONE]');
  expect(rendered([...bytes].map((byte) => Buffer.from([byte])))).toBe(whole);
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (cuts) => {
      expect(rendered(cutAt(bytes, cuts))).toBe(whole);
    }),
  );
});

describe('the end of a stream', () => {
  it.each([['data:[DONE]\n\n'], ['data:  [DONE]  \r\n\r\n'], ['data: [DONE]'], ['data: [DONE]\n'], ['']])(
    'ends with [DONE] as the clients compare it where the engine wrote %j',
    (last) => {
      const finish = delta({ role: 'assistant', content: 'a' }, 'stop');
      expect(rendered([finish, last])).toBe(finish + DONE);
    },
  );

  it('completes a last event that lacks its blank line', () => {
    expect(rendered([delta({ role: 'assistant' }, 'stop').trimEnd()])).toBe(
      delta({ role: 'assistant' }, 'stop') + DONE,
    );
  });

  it('takes [DONE] without a finish_reason for complete', () => {
    expect(rendered([delta({ role: 'assistant', content: 'a' }), DONE])).toBe(
      delta({ role: 'assistant', content: 'a' }) + DONE,
    );
  });

  it('says that a stream without either was cut', () => {
    const rendering = streaming();
    rendering.push(Buffer.from(delta({ role: 'assistant', content: 'a' })));
    rendering.push(Buffer.from('data: {"id":"c-1","cho'));
    const end = rendering.end();
    expect(end).toMatchObject({ code: 'upstream-failed', status: 502 });
    expect(text(rendering.failure(end as GatewayProblem))).toBe(
      'data: {"error":{"message":"The engine broke off in the middle of its answer (server_error).","type":"server_error","param":null,"code":"upstream_failed"}}\n\n',
    );
  });

  it('drops half an event behind a finish_reason', () => {
    const finish = delta({ role: 'assistant', content: 'a' }, 'stop');
    expect(rendered([finish, 'data: {"id":"c-1","usa'])).toBe(finish + DONE);
  });

  it('calls a stream complete that breaks off behind its finish_reason', () => {
    const rendering = streaming();
    rendering.push(Buffer.from(delta({ role: 'assistant', content: 'a' }, 'stop')));
    expect(text(rendering.failure(new GatewayProblem('upstream-failed', { detail: 'reset' })))).toBe(DONE);
    expect(rendering.failed).toBe(false);
  });

  it('can say nothing once half an event is with the client', () => {
    const rendering = streaming();
    rendering.push(Buffer.from(`data: {"choices":[{"delta":{"content":"${'x'.repeat(300 * 1024)}`));
    expect(rendering.heartbeat(false)).toBeUndefined();
    expect(rendering.end()).toBeInstanceOf(GatewayProblem);
    expect(rendering.failure(new GatewayProblem('upstream-failed', { detail: 'reset' }))).toBeUndefined();
  });
});

describe('a stream of several choices', () => {
  const both = delta({ role: 'assistant', content: 'a' }) + delta({ role: 'assistant', content: 'b' }, null, 1);
  const broken = new GatewayProblem('upstream-failed', { detail: 'reset' });

  it.each([
    ['the other is under way', both + delta({}, 'stop')],
    ['the other never began', delta({ role: 'assistant', content: 'a' }) + delta({}, 'stop')],
    ['the same one has it twice', both + delta({}, 'stop') + delta({}, 'stop')],
  ])('is cut where only one has its finish_reason (%s)', (_, stream) => {
    const out = rendered([stream], { choices: 2 });
    expect(out).toMatch(/^data: \{"error":.*\n\n$/m);
    expect(out.startsWith(stream)).toBe(true);
    expect(out).not.toContain('[DONE]');
    const one = streaming({ choices: 2 });
    one.push(Buffer.from(stream));
    expect(text(one.failure(broken))).toContain('"error"');
    expect(one.failed).toBe(true);
  });

  it('is complete where all have theirs, in one chunk or in several', () => {
    const last = delta({}, 'stop', 1) + delta({}, 'length');
    expect(rendered([both, last], { choices: 2 })).toBe(both + last + DONE);
    const ends = [0, 1].map((index) => ({ index, delta: {}, finish_reason: 'stop' }));
    expect(rendered([both, chunk(ends)], { choices: 2 })).toBe(both + chunk(ends) + DONE);
    const one = streaming({ choices: 2 });
    one.push(Buffer.from(both + last));
    expect(text(one.failure(broken))).toBe(DONE);
  });

  it('ends where the engine says so, though fewer came than were asked for', () => {
    const stream = delta({ role: 'assistant', content: 'a' }, 'stop') + DONE;
    expect(rendered([stream], { choices: 3 })).toBe(stream);
  });

  it('of completions is held to the same', () => {
    const piece = (index: number, finish: string | null): string =>
      `data: {"object":"text_completion","choices":[{"text":"a","index":${index},"finish_reason":${JSON.stringify(finish)}}]}\n\n`;
    const half = piece(0, null) + piece(1, null) + piece(0, 'stop');
    const terms = { operation: 'completions', choices: 2 } as const;
    expect(rendered([half], terms)).not.toContain('[DONE]');
    expect(rendered([half, piece(1, 'length')], terms)).toBe(half + piece(1, 'length') + DONE);
  });
});

describe('heartbeats', () => {
  it('are comments between events, also while half an event is held', () => {
    const rendering = streaming();
    expect(text(rendering.heartbeat(false))).toBe(': keep-alive\n\n');
    rendering.push(Buffer.from('data: {"cho'));
    expect(text(rendering.heartbeat(false))).toBe(': keep-alive\n\n');
  });

  it('as events carry the id of the stream', () => {
    const rendering = streaming();
    rendering.push(Buffer.from(delta({ role: 'assistant', content: 'a' })));
    expect(frames(text(rendering.heartbeat(true)))).toEqual([
      {
        id: 'c-1',
        object: 'chat.completion.chunk',
        created: 7,
        model: 'm',
        choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: null }],
      },
    ]);
  });

  it('before the first chunk give the role, and the engine follows under their id', async () => {
    const rendering = new OpenAiRendering(terms());
    rendering.head();
    const beats = text(rendering.heartbeat(true)) + text(rendering.heartbeat(true));
    rendering.begin(200, SSE);
    const out = beats + text(rendering.push(Buffer.from(delta({ content: 'a' }) + delta({}, 'stop') + DONE)));
    const [first, second, third] = frames(out) as { id: string; choices: { delta: object }[] }[];
    expect(first).toMatchObject({
      id: 'chatcmpl-req-1',
      created: 1_760_000_000,
      choices: [{ delta: { role: 'assistant', content: '' } }],
    });
    expect(second?.choices[0]?.delta).toEqual({});
    expect(third).toMatchObject({ id: 'chatcmpl-req-1', choices: [{ delta: { content: 'a' } }] });
    await expect(official(out)).resolves.toMatchObject({
      choices: [{ message: { content: 'a' }, finish_reason: 'stop' }],
    });
  });

  it('are no content', () => {
    const rendering = new OpenAiRendering(terms({ operation: 'completions' }));
    expect(frames(text(rendering.heartbeat(true)))).toMatchObject([
      { object: 'text_completion', choices: [{ text: '' }] },
    ]);
    expect(rendering.contentSeen).toBe(false);
    expect(rendering.usage).toBeUndefined();
  });

  it('end with the stream', () => {
    const rendering = streaming();
    rendering.push(Buffer.from(delta({ role: 'assistant', content: 'a' }, 'stop')));
    expect(text(rendering.heartbeat(true))).toBe(': keep-alive\n\n');
    rendering.push(Buffer.from(DONE));
    expect(rendering.heartbeat(false)).toBeUndefined();
  });
});
