import { TailTap, usageInBody } from './usage-tap.js';

it('finds the usage wherever it stands', () => {
  const usage = '"usage" : {"prompt_tokens":3,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":1}}';
  const expected = { promptTokens: 3, completionTokens: 4, cachedTokens: 1, reasoningTokens: 0 };
  expect(usageInBody(Buffer.from(`{${usage},"choices":[],"timings":{"a":1}}`))).toEqual(expected);
  expect(usageInBody(Buffer.from(`{"choices":[],${usage}}`))).toEqual(expected);
  expect(usageInBody(Buffer.from(`{"choices":[],${usage},"x":{"usage":null}}`))).toEqual(expected);
});

it.each([
  ['{"choices":[{"message":{"content":"\\"usage\\":{\\"prompt_tokens\\":9}"}}]}'],
  ['{"usage":null}'],
  ['{"usage":{"prompt_tokens":'],
  ['"usage"'],
  [''],
])('finds none in %s', (body) => {
  expect(usageInBody(Buffer.from(body))).toBeUndefined();
});

it('needs no more than the end of a long body', () => {
  const tap = new TailTap();
  const body = Buffer.from(`{"data":[${'1,'.repeat(50_000)}1],"usage":{"prompt_tokens":3}}`);
  for (let at = 0; at < body.length; at += 1000) tap.push(body.subarray(at, at + 1000));
  expect(tap.usage).toMatchObject({ promptTokens: 3 });
});
