import { readdirSync, readFileSync } from 'node:fs';
import { GatewayProblem, type ProblemOptions } from '../../../common/problem/gateway-problem.js';
import { MEMBER_NAMES } from './member-names.js';
import { canonicalFrom, leadingModel, scanRequest, type ScannedRequest } from './scan-request.js';

const scanned = (text: string): ScannedRequest => scanRequest(Buffer.from(text));
function refusal(body: string | Uint8Array): { readonly code: string } & ProblemOptions {
  try {
    scanRequest(typeof body === 'string' ? Buffer.from(body) : body);
  } catch (error) {
    if (error instanceof GatewayProblem) return { code: error.code, ...error.options };
    throw error;
  }
  throw new Error('The body was accepted');
}
const valueOf = (scan: ScannedRequest, name: (typeof MEMBER_NAMES)[number]): unknown => {
  const member = scan.member(name);
  return member && JSON.parse(scan.json.bytes.toString('utf8', member.valueStart, member.valueEnd));
};

describe('scanRequest', () => {
  it('reads what routing needs and leaves the rest', () => {
    const scan = scanned(
      ' {"messages":[{"model":"inner","stream":true}], "mo\\u0064el" : "outer", "stream":true,"n":2,"best_of":3,' +
        '"max_tokens":10,"max_completion_tokens":20,"stream_options":{"x":1,"include_usage":true},"tools":[ ],' +
        '"encoding_format":"base64","text":"\\"model\\":\\"fake\\"","seed":1} \n',
    );
    expect(valueOf(scan, 'model')).toBe('outer');
    expect(scan).toMatchObject({ stream: true, n: 2, bestOf: 3, maxTokens: 10, maxCompletionTokens: 20 });
    expect(scan).toMatchObject({ includeUsage: true, toolsEmpty: true, encodingFormat: 'base64', empty: false });
    expect(valueOf(scan, 'messages')).toEqual([{ model: 'inner', stream: true }]);
    expect(scan.member('prompt')).toBeUndefined();
  });

  it('takes null for absent', () => {
    const scan = scanned(
      '{"stream":null,"n":null,"max_tokens":null,"stream_options":null,"tools":null,"encoding_format":null}',
    );
    expect(scan).toMatchObject({
      stream: false,
      n: undefined,
      maxTokens: undefined,
      includeUsage: false,
      toolsEmpty: false,
    });
    expect(scan.encodingFormat).toBeUndefined();
    expect(scanned('{"stream_options":{"include_usage":null}}').includeUsage).toBe(false);
    expect(scanned(' { } ').empty).toBe(true);
  });

  it.each([
    ['"one"', 1],
    ['[]', 1],
    ['["a","b","c"]', 3],
    ['["a, [b]","c"]', 2],
    ['[1,2,3]', 1],
    ['[[1,2],[3]]', 2],
    ['[ [ ] ]', 1],
    ['null', 1],
  ])('counts the prompts of %s', (prompt, count) => {
    expect(scanned(`{"prompt":${prompt},"input":[[[]]]}`).promptCount).toBe(count);
  });

  it.each([
    ['', 'The body is empty; a JSON object was expected.'],
    ['\ufeff{}', 'The body begins with a byte order mark, which JSON does not allow.'],
    [Buffer.from('{"a":1}', 'utf16le'), 'The body is not UTF-8 but looks like UTF-16 or UTF-32.'],
    [Buffer.from('\ufeff{"a":1}', 'utf16le'), 'The body is not UTF-8 but looks like UTF-16 or UTF-32.'],
    [Buffer.from('{"a":1}', 'utf16le').swap16(), 'The body is not UTF-8 but looks like UTF-16 or UTF-32.'],
    [Buffer.from([0, 0, 0, 0x7b, 0, 0, 0, 0x7d]), 'The body is not UTF-8 but looks like UTF-16 or UTF-32.'],
    [Buffer.from('{"a":"\xff"}', 'latin1'), 'The body is not valid UTF-8.'],
    [Buffer.from('{"a":"\xed\xa0\x80"}', 'latin1'), 'The body is not valid UTF-8.'],
    [Buffer.from('{"a":"\xc0\xaf"}', 'latin1'), 'The body is not valid UTF-8.'],
    ['[]', 'The body has to be a JSON object: at byte 0 "{" was expected.'],
    ['  "model"', 'The body has to be a JSON object: at byte 2 "{" was expected.'],
    [' \n', 'The body has to be a JSON object: at byte 2 "{" was expected.'],
    ['{} {}', 'The body is not valid JSON: at byte 3 the end of the body was expected.'],
    ['{"model":"a"', 'The body is not valid JSON: at its end, byte 12, a comma or "}" was expected.'],
  ])('refuses %j', (body, detail) => {
    expect(refusal(body)).toMatchObject({ code: 'invalid-body', detail });
  });

  it.each([
    '{"model":"a","model":"a"}',
    '{"model":"a","x":{"y":[]},"mo\\u0064el":"b"}',
    '{"\\u006dodel":"a","\\u006Dodel":"b"}',
    '{"Model":"a","model":"a"}',
    '{"model":"a","MODEL":null}',
    '{"Model":"a","mOdel":"a"}',
    `{"model":"a","x":"${'-'.repeat(300_000)}","model":"b"}`,
  ])('refuses a model that stands twice: %.60s', (body) => {
    expect(refusal(body)).toMatchObject({ code: 'invalid-body' });
    expect(refusal(body).detail).toContain('has the member "model" twice');
  });

  it.each(MEMBER_NAMES)('refuses %s twice, since readers differ in which of the two they take', (name) => {
    expect(refusal(`{"${name}":null,"${name}":null}`)).toMatchObject({ code: 'invalid-body' });
    expect(refusal(`{"${name}":null,"${name.toUpperCase()}":null}`)).toMatchObject({ code: 'invalid-body' });
    expect(scanned(`{"${name}":null,"x":{"${name}":1},"y":{"${name}":2}}`).member(name)).toBeDefined();
  });

  it('refuses include_usage twice', () => {
    const body = '{"stream":true,"stream_options":{"include_usage":false,"include\\u005fusage":true}}';
    expect(refusal(body).detail).toContain('"stream_options.include_usage" twice');
  });

  it.each(['Stream', 'Max_Tokens', '\\u017ftream', 'ſtream', 'max_to\u212aens', '\\u0053tream', 'N'])(
    'refuses %s, which an engine that ignores case would obey behind our back',
    (name) => expect(refusal(`{"${name}":true}`)).toMatchObject({ code: 'invalid-request' }),
  );

  it('keeps a miscased model for whoever needs the place', () => {
    const scan = scanned('{"Model":"a"}');
    expect(scan.member('model')).toBeUndefined();
    expect(scan.miscasedModel).toMatchObject({ keyStart: 1, valueEnd: 12 });
  });

  it.each([
    ['stream', '1'],
    ['stream', '"true"'],
    ['n', '-1'],
    ['n', '1.5'],
    ['n', '"2"'],
    ['n', '[1]'],
    ['n', 'true'],
    ['n', '1e400'],
    ['best_of', '{}'],
    ['max_tokens', '-1'],
    ['max_tokens', '9007199254740993'],
    ['max_tokens', '9'.repeat(300_000)],
    ['max_completion_tokens', '""'],
    ['stream_options', '[]'],
    ['stream_options', 'true'],
    ['encoding_format', '1'],
  ])('refuses a %s of %.20s, naming the field', (name, value) => {
    expect(refusal(`{"model":"a","${name}":${value}}`)).toMatchObject({ code: 'invalid-request', param: name });
  });

  it('refuses an include_usage that is no boolean by its path', () => {
    const body = '{"stream":true,"stream_options":{"include_usage":"yes"}}';
    expect(refusal(body)).toMatchObject({ code: 'invalid-request', param: 'stream_options.include_usage' });
  });

  it.each([
    ['1e2', 100],
    ['100.0', 100],
    ['0', 0],
    ['-0', 0],
  ])('reads %s as a count', (text, count) => {
    expect(scanned(`{"n":${text}}`).n).toBe(count);
  });

  it('is not impressed by prototypes', () => {
    const scan = scanned('{"__proto__":{"stream":true,"model":"x"},"constructor":{"prototype":{"n":9}},"toString":1}');
    expect(scan).toMatchObject({ stream: false, n: undefined });
    expect(scan.member('model')).toBeUndefined();
    expect(({} as Record<string, unknown>)['stream']).toBeUndefined();
  });

  it('reads bodies of extreme shapes', () => {
    const many = Array.from({ length: 20_000 }, (_, index) => `"key${index}":${index}`).join(',');
    expect(valueOf(scanned(`{${many},"model":"a"}`), 'model')).toBe('a');
    expect(valueOf(scanned(`{"${'k'.repeat(1_000_000)}":1,"model":"a"}`), 'model')).toBe('a');
    expect(valueOf(scanned(`{"${'\\u006b'.repeat(100_000)}":1,"model":"a"}`), 'model')).toBe('a');
    expect(valueOf(scanned(`{"x":${'7'.repeat(300_000)},"model":"a"}`), 'model')).toBe('a');
    expect(valueOf(scanned(`{"x":"${'\\"'.repeat(300_000)}","model":"a"}`), 'model')).toBe('a');
  });

  it.each([
    ['{"x":@}', 1],
    ['{"messages":@}', 1],
    ['{"messages":[@]}', 2],
    ['{"messages":[{"content":@}]}', 3],
    ['{"messages":[{"tool_calls":[@]}]}', 4],
    ['{"messages":[{"tool_calls":[{"x":@}]}]}', 5],
    ['{"messages":[{"tool_calls":[{"function":@}]}]}', 5],
    ['{"messages":[{"tool_calls":[{"function":{"arguments":@}}]}]}', 6],
  ])('counts every level of %s', (frame, levels) => {
    const nested = (depth: number): string => frame.replace('@', '['.repeat(depth) + ']'.repeat(depth));
    expect(scanned(nested(512 - levels)).empty).toBe(false);
    expect(refusal(nested(513 - levels))).toMatchObject({ code: 'invalid-body' });
  });

  it('reads every recorded request of the real clients', () => {
    const folder = new URL('../../../../test/clients/requests/', import.meta.url);
    const bodies = readdirSync(folder)
      .map(
        (file) => JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as { request: { body?: { model?: string } } },
      )
      .flatMap(({ request }) => (request.body?.model === undefined ? [] : [request.body]));
    expect(bodies.length).toBeGreaterThan(50);
    for (const body of bodies) expect(valueOf(scanned(JSON.stringify(body)), 'model')).toBe(body.model);
  });
});

describe('canonicalFrom', () => {
  it('lets the newer limit count for chat, and multiplies the answers', () => {
    const scan = scanned('{"stream":true,"max_tokens":10,"max_completion_tokens":20,"n":2,"best_of":3}');
    expect(canonicalFrom(scan, 'chat', 'reasoning', { textBytes: 99, images: 1 })).toEqual({
      operation: 'chat',
      model: 'reasoning',
      stream: true,
      maxOutputTokens: 20,
      choices: 3,
      promptBytes: 99,
      images: 1,
    });
  });

  it('counts a sequence for every prompt of a completions request', () => {
    const scan = scanned('{"prompt":["a","b"],"n":4,"max_tokens":7,"max_completion_tokens":9}');
    expect(canonicalFrom(scan, 'completions', 'm', { textBytes: 1, images: 0 })).toMatchObject({
      choices: 8,
      maxOutputTokens: 7,
      stream: false,
    });
    expect(canonicalFrom(scanned('{"n":0}'), 'completions', 'm', { textBytes: 1, images: 0 }).choices).toBe(1);
  });

  it.each(['embeddings', 'rerank'] as const)('generates nothing for %s', (operation) => {
    const scan = scanned('{"stream":true,"n":4,"max_tokens":7}');
    expect(canonicalFrom(scan, operation, 'm', { textBytes: 1, images: 0 })).toMatchObject({
      choices: 1,
      maxOutputTokens: undefined,
      stream: false,
    });
  });
});

describe('leadingModel', () => {
  const found = (text: string | Uint8Array): string | undefined => leadingModel(Buffer.from(text));

  it.each([
    ['first', '{"model":"m","messages":[1,'],
    ['behind others', ' {"messages":[{"model":"inner"}],"stream":true , "model" : "m" nonsense'],
    ['last', '{"n":1,"model":"m"}'],
    ['in escapes', '{"mo\\u0064el":"\\u006d"}x'],
  ])('finds the name and reads nothing behind it: %s', (_, text) => expect(found(text)).toBe('m'));

  it.each([
    ['none', '{"messages":[]}'],
    ['an empty object', '{}'],
    ['no object', '["model","m"]'],
    ['one that is no text', '{"model":1}'],
    ['one that is longer than names are', `{"model":"${'m'.repeat(255)}"}`],
    ['one in capitals', '{"Model":"m"}'],
  ])('finds nothing where there is %s', (_, text) => expect(found(text)).toBeUndefined());

  it.each([
    ['a fault before it', '{"stream":tru,"model":"m"}'],
    ['no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['nothing', ''],
  ])('says as the whole scan does what is wrong with %s', (_, body) => {
    const { detail } = refusal(body);
    expect(() => found(body)).toThrow(detail);
  });
});
