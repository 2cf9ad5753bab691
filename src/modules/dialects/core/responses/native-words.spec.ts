import fc from 'fast-check';
import { cutAt, SSE, text } from '../../../../../test/support/rendered-stream.js';
import { CONTEXT, framesOf } from '../../../../../test/support/rendered-responses.js';
import { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import { NativeRendering } from '../native-rendering.js';
import { NativeResponseWords } from './native-words.js';

const COUNTED = {
  input_tokens: 12,
  output_tokens: 9,
  total_tokens: 21,
  input_tokens_details: { cached_tokens: 5 },
  output_tokens_details: { reasoning_tokens: 2 },
};
const USAGE = { promptTokens: 12, completionTokens: 9, cachedTokens: 5, reasoningTokens: 2 };

const event = (type: string, number: number, more: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number, ...more })}\n\n`;
const response = (status: string, more: object = {}) => ({ response: { id: 'resp_9', status, output: [], ...more } });
const START = event('response.created', 0, response('in_progress', { error: null }));
const ADDED = event('response.output_item.added', 1, { output_index: 0, item: { id: 'm', type: 'message' } });
const PART = event('response.content_part.added', 2, {
  item_id: 'm',
  output_index: 0,
  content_index: 0,
  part: { type: 'output_text', text: '' },
});
const DELTA = event('response.output_text.delta', 3, {
  item_id: 'm',
  output_index: 0,
  content_index: 0,
  delta: 'tide 潮 "response.completed"',
});
const ITEM = event('response.output_item.done', 4, { output_index: 0, item: { id: 'm', type: 'message' } });
const END = event('response.completed', 5, response('completed', { usage: COUNTED }));
const ALL = [START, ADDED, PART, DELTA, ITEM, END].join('');
const cut = new GatewayProblem('upstream-failed', { detail: 'The engine broke off.' });
const JSON_TYPE = { 'content-type': 'application/json' };

const native = (): NativeRendering => new NativeRendering(new NativeResponseWords(CONTEXT));
const begun = (headers = SSE, status = 200): NativeRendering => {
  const one = native();
  one.begin(status, headers);
  return one;
};
const pushed = (bytes: string): NativeRendering => {
  const one = begun();
  one.push(Buffer.from(bytes));
  return one;
};

it('passes a stream as it is and finds its usage, however the bytes are cut', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: Buffer.byteLength(ALL) })), (places) => {
      const one = begun();
      for (const piece of cutAt(Buffer.from(ALL), places)) expect(one.push(piece)).toBe(piece);
      expect(one.usage).toEqual(USAGE);
      expect([one.contentSeen, one.failed, text(one.end())]).toEqual([true, false, '']);
    }),
  );
});

it('sees no content before there is some, nor an end in what the model says', () => {
  expect(pushed(START + ADDED + PART).contentSeen).toBe(false);
  const one = pushed(START + ADDED + PART + DELTA);
  expect([one.contentSeen, one.end() instanceof GatewayProblem]).toEqual([true, true]);
});

it.each(['response.completed', 'response.incomplete'])('ends with %s, and is whole', (type) => {
  expect(text(pushed(START + event(type, 1, response('x', { usage: COUNTED }))).end())).toBe('');
});

it.each([
  ['response.failed', response('failed', { usage: COUNTED })],
  ['error', { code: 'server_error', message: 'no', param: null }],
])('ends as failed where the engine says %s itself', (type, more) => {
  const one = pushed(START + event(type, 1, more));
  expect([text(one.end()), one.failed]).toEqual(['', true]);
});

it('knows the end of an answer that is too long to be read again', () => {
  const long = { output: [{ type: 'message', content: [{ text: 'x'.repeat(17 * 1024 * 1024) }] }] };
  const bytes = Buffer.from(START + event('response.completed', 1, response('completed', long)));
  const one = begun();
  for (let at = 0; at < bytes.length; at += 1_000_000) one.push(bytes.subarray(at, at + 1_000_000));
  expect([text(one.end()), one.failed]).toEqual(['', false]);
});

it('takes a stream without its end for a broken one, and counts on in the event that says so', () => {
  const said = START + ADDED + PART + DELTA;
  const one = pushed(said);
  const frames = framesOf(Buffer.concat([Buffer.from(said), one.failure(cut) ?? Buffer.alloc(0)]), 'error');
  expect(frames.at(-1)).toEqual({
    event: 'error',
    data: {
      type: 'error',
      sequence_number: 4,
      code: 'server_error',
      message: 'The engine broke off. (server_error)',
      param: null,
    },
  });
  expect(one.failed).toBe(true);
});

it.each(['', '\n', '\r\n'])('counts a last event without its blank line, and gives it one (%j)', (lineEnd) => {
  const whole = pushed(ALL.trimEnd() + lineEnd);
  expect(text(whole.end())).toBe(lineEnd === '' ? '\n\n' : '\n');
  expect([whole.failed, text(whole.failure(cut))]).toEqual([false, '']);
  const failed = pushed(START + event('error', 1, { code: 'x', message: 'no' }).trimEnd() + lineEnd);
  expect(text(failed.end())).toBe(lineEnd === '' ? '\n\n' : '\n');
  expect(failed.failed).toBe(true);
});

it.each([ALL.slice(0, -5), START + DELTA.trimEnd()])('is cut in a last event that ends nothing', (bytes) => {
  const one = pushed(bytes);
  expect(one.end()).toBeInstanceOf(GatewayProblem);
  expect(one.failure(cut)).toBeUndefined();
  expect(one.failed).toBe(true);
});

it('can say nothing inside half an event, and nothing behind a whole answer', () => {
  const half = pushed(START + DELTA.slice(0, 30));
  expect(half.heartbeat()).toBeUndefined();
  expect(half.failure(cut)).toBeUndefined();
  const whole = pushed(ALL);
  expect(text(whole.failure(cut))).toBe('');
  expect([whole.failed, whole.heartbeat()]).toEqual([false, undefined]);
});

it('keeps a silent stream alive with comments, before its head and between its events', () => {
  const parked = native();
  expect(text(parked.heartbeat())).toBe(': keep-alive\n\n');
  expect(parked.head()).toMatchObject({ status: 200 });
  parked.begin(200, SSE);
  parked.push(Buffer.from(START));
  expect(text(parked.heartbeat())).toBe(': keep-alive\n\n');
});

it('passes a whole answer as it is', () => {
  const body = Buffer.from(
    `{ "object": "response", "output": [], "error": null, "usage": ${JSON.stringify(COUNTED)} }`,
  );
  const one = begun(JSON_TYPE);
  expect(one.whole(body)).toMatchObject({ status: 200, body });
  expect(one.usage).toEqual(USAGE);
});

it('hands on an error that clients can read, and wraps another', () => {
  const readable = Buffer.from('{"error":{"message":"the reason","type":"t","param":null,"code":null}}');
  expect(begun(JSON_TYPE, 400).whole(readable)).toMatchObject({ status: 400, body: readable });
  const { status, body } = begun(JSON_TYPE, 503).whole(Buffer.from('busy'));
  expect(status).toBe(503);
  expect(JSON.parse(String(body))).toMatchObject({
    request_id: 'req-1',
    error: { message: expect.stringContaining('overloaded') },
  });
});

it('tells a client that has a head already of an error, in an event', () => {
  const parked = native();
  parked.heartbeat();
  parked.begin(429, JSON_TYPE);
  const { body } = parked.whole(Buffer.from('{"error":{"message":"slow down"}}'));
  expect(String(body)).toContain(
    'event: error\ndata: {"type":"error","sequence_number":0,"code":"rate_limit_exceeded"',
  );
  expect(parked.failed).toBe(true);
});

it.each(['<html>', '{"error":{"message":"x"}}', '7'])('takes %s for no answer', (body) => {
  expect(() => begun(JSON_TYPE).whole(Buffer.from(body))).toThrow(GatewayProblem);
});
