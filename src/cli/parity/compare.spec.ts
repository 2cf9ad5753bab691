import type { Comparison, Ignored } from './case-file.js';
import { compareAnswers } from './compare.js';
import type { Answer } from './fetch-answer.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const STREAM = { 'content-type': 'text/event-stream' };

const answer = (body: unknown, headers: Answer['headers'] = JSON_TYPE, more: Partial<Answer> = {}): Answer => ({
  status: 200,
  headers,
  body: typeof body === 'string' ? body : JSON.stringify(body),
  failure: undefined,
  tookMs: 1,
  ...more,
});

const NONE: Ignored = { headers: [], members: [] };

function compared(left: Answer, right: Answer, compare: Comparison = 'same', ignore = NONE): unknown[] {
  return compareAnswers(left, right, compare, ignore).map((one) => [one.path, one.left, one.right]);
}

it('compares status, headers and JSON, whatever its order and its spaces', () => {
  expect(compared(answer('{"a":1, "b":2}'), answer('{"b":2,"a":1}'))).toEqual([]);
  const other = answer({ a: 2 }, { ...JSON_TYPE, allow: 'GET' }, { status: 201 });
  expect(compared(answer({ a: 1 }), other)).toEqual([
    ['status', 200, 201],
    ['header allow', undefined, 'GET'],
    ['body a', 1, 2],
  ]);
});

it('passes over what is volatile by nature, and what the file names', () => {
  const headers = { ...JSON_TYPE, date: 'now', 'x-request-id': '1', 'x-kong-latency': '3', via: 'kong' };
  expect(compared(answer({ id: 1, a: [{ id: 2 }] }, headers), answer({ a: [{ id: 3 }] }), 'same', { headers: ['x-kong-*', 'via'], members: ['id'] })).toEqual([]); // prettier-ignore
});

it('compares text that is no JSON', () => {
  expect(compared(answer('one'), answer('two'))).toEqual([['body', 'one', 'two']]);
});

const delta = (content: string): string => `data: {"choices":[{"delta":{"content":"${content}"}}]}\n\n`;

it('compares streams event by event', () => {
  const one = answer(`: beat\n\n${delta('a')}data: [DONE]\n\n`, STREAM);
  expect(compared(one, answer(`${delta('a')}data: [DONE]\n\n`, STREAM))).toEqual([]);
  expect(compared(one, answer(`${delta('b')}data: [DONE]\n\n`, STREAM))).toEqual([
    ['body events[0].data.choices[0].delta.content', 'a', 'b'],
  ]);
});

describe('by shape', () => {
  it('does not mind what a model says, nor in how many pieces', () => {
    const one = answer(`${delta('a')}${delta('b')}data: [DONE]\n\n`, STREAM);
    expect(compared(one, answer(`${delta('hello')}data: [DONE]\n\n`, STREAM), 'shape')).toEqual([]);
    expect(compared(answer({ a: 'x', b: [1, 2] }), answer({ a: 'y', b: [3] }), 'shape')).toEqual([]);
  });

  it('sees a stream that ends another way, and events of another kind', () => {
    const whole = answer(`${delta('a')}data: [DONE]\n\n`, STREAM);
    expect(compared(whole, answer(delta('a'), STREAM), 'shape')).toEqual([['body end', '[DONE]', 'message']]);
    expect(compared(whole, answer(`event: ping\n${delta('a')}data: [DONE]\n\n`, STREAM), 'shape')).toEqual([
      ['body kinds[1]', undefined, 'ping'],
    ]);
  });

  it('sees members that are missing, of another kind, or only in some elements', () => {
    expect(compared(answer({ a: 'x', c: null }), answer({ a: 1 }), 'shape')).toEqual([
      ['body a', 'string', 'number'],
      ['body c', 'null', undefined],
    ]);
    expect(compared(answer([{ a: 1 }, { a: 'x', b: 1 }]), answer([{ a: 1 }]), 'shape')).toEqual([
      ['body [].a', 'number or string', 'number'],
      ['body [].b', 'number', undefined],
    ]);
  });
});

it('looks at nothing but status and content type where only they count', () => {
  const left = answer('<html>', { 'content-type': 'text/html', etag: '1' });
  expect(compared(left, answer('other', { 'content-type': 'text/html' }), 'status')).toEqual([]);
  expect(compared(left, answer('<html>', JSON_TYPE, { status: 404 }), 'status')).toEqual([
    ['status', 200, 404],
    ['header content-type', 'text/html', 'application/json'],
  ]);
});

it('takes two that fail alike for a difference: nothing has been shown', () => {
  const failed = answer('', {}, { status: undefined, failure: 'refused' });
  expect(compared(failed, failed)).toEqual([['failure', 'refused', 'refused']]);
});
