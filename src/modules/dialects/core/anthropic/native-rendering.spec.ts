import fc from 'fast-check';
import { cutAt, SSE, text } from '../../../../../test/support/rendered-stream.js';
import { CONTEXT, framesOf } from '../../../../../test/support/rendered-messages.js';
import { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import { NativeRendering } from '../native-rendering.js';
import { NativeMessageWords } from './native-words.js';

const event = (data: { type: string } & Record<string, unknown>): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const START = event({
  type: 'message_start',
  message: { content: [], usage: { input_tokens: 7, cache_read_input_tokens: 5, output_tokens: 1 } },
});
const BLOCK = event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
const DELTA = event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'tide 潮' } });
const CLOSE = event({ type: 'content_block_stop', index: 0 });
const END = event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } });
const STOP = event({ type: 'message_stop' });
const ALL = [START, BLOCK, DELTA, CLOSE, END, STOP].join('');
const ERROR = event({ type: 'error', error: { type: 'overloaded_error', message: 'no' } });
const cut = new GatewayProblem('upstream-failed', { detail: 'The engine broke off.' });

const begun = (headers = SSE, status = 200): NativeRendering => {
  const one = new NativeRendering(new NativeMessageWords(CONTEXT));
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
    fc.property(fc.array(fc.nat({ max: ALL.length })), (places) => {
      const one = begun();
      for (const piece of cutAt(Buffer.from(ALL), places)) expect(one.push(piece)).toBe(piece);
      expect(one.usage).toEqual({ promptTokens: 12, completionTokens: 9, cachedTokens: 5, reasoningTokens: 0 });
      expect([one.contentSeen, one.failed, text(one.end())]).toEqual([true, false, '']);
    }),
  );
});

it('takes a stream without its end for a broken one', () => {
  const one = pushed(START + BLOCK + DELTA);
  expect(one.end()).toBeInstanceOf(GatewayProblem);
  expect(
    framesOf(Buffer.concat([Buffer.from(START + BLOCK + DELTA), one.failure(cut) ?? Buffer.alloc(0)]), 'error').at(-1),
  ).toMatchObject({
    event: 'error',
    data: { error: { type: 'api_error' } },
  });
  expect(one.failed).toBe(true);
});

it.each(['', '\n', '\r\n'])('counts a last event without its blank line, and gives it one (%j)', (lineEnd) => {
  const whole = pushed(ALL.trimEnd() + lineEnd);
  expect(text(whole.end())).toBe(lineEnd === '' ? '\n\n' : '\n');
  expect([whole.failed, text(whole.failure(cut))]).toEqual([false, '']);
  const failed = pushed(START + ERROR.trimEnd() + lineEnd);
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

it('ends as failed where the engine said so itself', () => {
  const one = pushed(START + ERROR);
  expect([text(one.end()), one.failed]).toEqual(['', true]);
});

it('keeps a silent stream alive between events', () => {
  expect(text(pushed(START).heartbeat())).toContain('event: ping');
});

it('passes a whole answer as it is', () => {
  const body = Buffer.from('{ "type": "message", "content": [], "usage": { "input_tokens": 3, "output_tokens": 4 } }');
  const one = begun({ 'content-type': 'application/json' });
  expect(one.whole(body)).toMatchObject({ status: 200, body });
  expect(one.usage).toMatchObject({ promptTokens: 3, completionTokens: 4 });
});

it('puts an error of the engine into the gateway’s form, before and inside a stream', () => {
  const body = Buffer.from('{"type":"error","error":{"type":"overloaded_error","message":"the reason"}}');
  const { status, body: problem } = begun({ 'content-type': 'application/json' }, 529).whole(body);
  expect(status).toBe(503);
  expect(JSON.parse(String(problem))).toMatchObject({
    type: 'error',
    request_id: 'req-1',
    error: { type: 'overloaded_error' },
  });
  const parked = new NativeRendering(new NativeMessageWords(CONTEXT));
  parked.heartbeat();
  parked.begin(529, { 'content-type': 'application/json' });
  expect(framesOf(parked.whole(body).body, 'error')).toMatchObject([{ data: { error: { type: 'overloaded_error' } } }]);
  expect(parked.failed).toBe(true);
});

it.each(['<html>', '{"type":"error","error":{"message":"x"}}', '7'])('takes %s for no answer', (body) => {
  expect(() => begun({ 'content-type': 'application/json' }).whole(Buffer.from(body))).toThrow(GatewayProblem);
});
