import { gzipSync } from 'node:zlib';
import { setTimeout as delay } from 'node:timers/promises';
import { CHAT, chatBody, contentOf, EdgeWorld, expectProblem } from '../support/edge-world.js';

const MODEL = '"model":"demo-chat"';
const REST =
  '"messages":[{"role":"user","content":"mark-body"}],"input":"mark-body","query":"q","documents":["mark-body"],"prompt":"mark-body"';
const body = (...members: string[]): string => `{${[...members, REST].join(',')}}`;
const filler = (bytes: number): string => `"metadata":"${'x'.repeat(bytes)}"`;
const FIXED = [CHAT, '/v1/completions', '/v1/embeddings', '/v1/rerank', '/v1/alias/chat/completions'];

/** What readers that take the first, or the last, or ignore case, find at the top level under `model`. */
function modelsIn(json: string): string[] {
  const found: string[] = [];
  let depth = 0;
  for (const [token, value] of json.matchAll(/[{}[\]]|"(?:[^"\\]|\\.)*"(?:\s*:\s*("(?:[^"\\]|\\.)*"))?/g)) {
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    else if (depth === 1 && value !== undefined && keyOf(token).toLowerCase() === 'model')
      found.push(JSON.parse(value) as string);
  }
  return found;
}

const keyOf = (token: string): string => JSON.parse(/^"(?:[^"\\]|\\.)*"/.exec(token)?.[0] ?? '""') as string;

describe('bodies', () => {
  let world: EdgeWorld;

  beforeAll(async () => {
    const maxBody = '12MiB';
    world = await EdgeWorld.start({
      operations: { chat: { maxBody }, embeddings: { maxBody } },
      server: { bodyMemory: '128MiB' },
    });
  }, 60_000);

  afterAll(() => world.stop());

  beforeEach(() => {
    world.upstream.requests = [];
  });

  const refused = async (
    text: string | Uint8Array,
    path = CHAT,
    statuses: readonly number[] = [400],
  ): Promise<void> => {
    const { connections } = world.upstream;
    expectProblem(await world.post(text, path), ...statuses);
    expect(world.upstream.requests).toHaveLength(0);
    expect(world.upstream.connections).toBe(connections);
  };

  /** Served with exactly these bytes, in which every reader finds the model that was authorised. */
  const served = async (text: string, path = CHAT): Promise<void> => {
    const response = await world.post(text, path);
    expect(response.status).toBe(200);
    expect(world.upstream.requests).toHaveLength(1);
    const { lastRequest } = world.upstream;
    expect(lastRequest.body.equals(Buffer.from(text))).toBe(true);
    expect(modelsIn(lastRequest.body.toString())).toEqual(['demo-chat']);
  };

  // prettier-ignore
  it.each([
    ['equal', body(MODEL, MODEL)], ['different', body(MODEL, '"model":"evil"')], ['the other way round', body('"model":"evil"', MODEL)],
    ['far apart', body(MODEL, filler(300_000), '"model":"evil"')], ['one escaped', body(MODEL, '"\\u006dodel":"evil"')],
    ['the first escaped', body('"mode\\u006c":"evil"', MODEL)], ['wholly escaped', body(MODEL, '"\\u006d\\u006f\\u0064\\u0065\\u006C":"evil"')],
    ['a capital', body(MODEL, '"Model":"evil"')], ['capitals before', body('"MODEL":"evil"', MODEL)], ['an escaped capital', body(MODEL, '"\\u004dodel":"evil"')],
    ['null', body(MODEL, '"model":null')], ['an object', body(MODEL, '"model":{}')], ['three times', body(MODEL, MODEL, MODEL)],
    ['at both ends', `{${MODEL},${REST},"model":"evil"}`],
  ])('J1: refuses a model that is given twice: %s', async (_, text) => {
    for (const path of FIXED) await refused(text, path);
  });

  // prettier-ignore
  it.each([
    ['in a member before', body('"metadata":{"model":"evil"}', MODEL)], ['in a member behind', body(MODEL, '"metadata":{"model":"evil","Model":"x"}')],
    ['in a list', body('"tags":[{"model":"evil"},"model",":","evil"]', MODEL)], ['in a text', body('"user":"\\"model\\":\\"evil\\"",' + MODEL)],
    ['in a text with braces', body('"user":"},{\\"model\\":\\"evil\\"}"', MODEL)], ['as a value', body('"user":"model"', MODEL)],
    ['with white space', body('"models":"evil"', '"model " : "evil"', '" model":"evil"', '\n"model"\t:\r\n "demo-chat"')],
    ['in a key', body('"a\\":{\\"model":"evil"', MODEL)], ['under a prefix of the name', body('"mode":"evil"', '"modela":"evil"', MODEL)],
  ])('J2: is not misled by a model %s', async (_, text) => served(text));

  // prettier-ignore
  it.each([
    ['behind 300 KB', body(filler(300_000), MODEL)], ['at the very end', `{${REST},${filler(300_000)},${MODEL}}`],
    ['behind many members', body(...Array.from({ length: 5_000 }, (_, index) => `"k${String(index)}":${String(index)}`), MODEL)],
    ['behind deep nesting', body(`"metadata":${'['.repeat(500)}${']'.repeat(500)}`, MODEL)],
  ])('J3: finds a model %s', async (_, text) => served(text));

  // prettier-ignore
  it.each([
    ['none', body()], ['null', body('"model":null')], ['a number', body('"model":1')], ['true', body('"model":true')], ['a list', body('"model":["demo-chat"]')],
    ['an object', body('"model":{"id":"demo-chat"}')], ['empty', body('"model":""')], ['white space', body('"model":"  "')], ['padded before', body('"model":" demo-chat"')],
    ['padded behind', body('"model":"demo-chat\\n"')], ['a control character', body('"model":"demo\\u0000-chat"')], ['another case', body('"model":"Demo-Chat"')],
    ['257 bytes', body(`"model":"${'m'.repeat(257)}"`)], ['300 KB', body(`"model":"${'m'.repeat(300_000)}"`)], ['half a surrogate pair', body('"model":"demo-chat\\ud800"')],
    ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', 'prototype', 'evil', '../demo-chat', 'demo-chat/x', 'demo%2dchat', 'demo-chat\\u200b'].map((name) => [
      name, body(`"model":"${name}"`),
    ]),
    ['misspelt key', body('"Model":"demo-chat"')],
  ])('J4: refuses a model that is none: %s', async (_, text = '') => {
    for (const path of FIXED.slice(0, 4)) await refused(text, path);
  });

  it('J5: is not changed by members that name the prototype', async () => {
    const evil = [
      '"__proto__":{"model":"evil","status":418,"stream":true}',
      '"constructor":{"prototype":{"model":"evil","polluted":1}}',
    ];
    await served(body(...evil, MODEL));
    world.upstream.requests = [];
    await refused(body(...evil));
    expect(await world.canary('clean')).toBe('mark-clean');
    expect((await world.ask({ method: 'GET', path: '/v1/models' })).text()).not.toMatch(/evil|polluted|418/);
  });

  // prettier-ignore
  it.each([
    ['truncated', body(MODEL).slice(0, -1)], ['trailing bytes', `${body(MODEL)}x`], ['a second document', `${body(MODEL)}${body(MODEL)}`],
    ['a second document on a line', `${body(MODEL)}\n${body(MODEL)}`], ['a comment', body('/* a */' + MODEL)], ['a line comment', `// a\n${body(MODEL)}`],
    ['a trailing comma', `{${MODEL},}`], ['NaN', body('"temperature":NaN', MODEL)], ['single quotes', body("'model':'demo-chat'")], ['a leading zero', body('"n":01', MODEL)],
    ['a raw control character', body('"user":"a\nb"', MODEL)], ['a bad escape', body('"user":"\\x41"', MODEL)], ['a list', `[${body(MODEL)}]`], ['a text', '"demo-chat"'],
    ['null', 'null'], ['nothing', ''], ['white space', ' \n '], ['NUL behind', `${body(MODEL)}\0`], ['a form', 'model=demo-chat'],
  ])('J6: refuses what is not one JSON object: %s', async (_, text) => {
    for (const path of FIXED) await refused(text, path);
  });

  // prettier-ignore
  it.each([
    ['a lone continuation byte', Buffer.from(body('"user":"\x80"', MODEL), 'latin1')], ['an overlong form', Buffer.from(body('"user":"\xc0\xaf"', MODEL), 'latin1')],
    ['a surrogate', Buffer.from(body('"user":"\xed\xa0\x80"', MODEL), 'latin1')], ['Latin-1', Buffer.from(body('"user":"caf\xe9"', MODEL), 'latin1')],
    ['UTF-16', Buffer.from(body(MODEL), 'utf16le')], ['UTF-16 with its mark', Buffer.from(`\ufeff${body(MODEL)}`, 'utf16le')],
    ['UTF-16 big-endian', Buffer.from(body(MODEL), 'utf16le').swap16()], ['UTF-32', Buffer.from(Uint32Array.from(Buffer.from(body(MODEL))).buffer)],
  ])('J7: refuses %s', async (_, bytes) => refused(bytes, CHAT, [400, 415]));

  it('J8: refuses a byte order mark, on every route', async () => {
    for (const path of FIXED) await refused(`\ufeff${body(MODEL)}`, path);
  });

  // prettier-ignore
  it.each([
    ['gzip', 'gzip', gzipSync(body(MODEL))], ['a wrong label', 'gzip', body(MODEL)], ['deflate', 'deflate', body(MODEL)], ['br', 'br', body(MODEL)],
    ['zstd', 'zstd', body(MODEL)], ['several', 'identity, gzip', body(MODEL)], ['a bomb', 'gzip', gzipSync(Buffer.alloc(20 << 20))], ['an unknown one', 'x', body(MODEL)],
    ['an empty one', '', body(MODEL)],
  ])('J9: refuses a coding unopened: %s', async (_, coding, bytes) => {
    for (const path of [...FIXED, '/plain/x']) {
      expectProblem(await world.post(bytes, path, { 'content-type': 'application/json', 'content-encoding': coding }), 415);
    }
    expect(world.upstream.requests).toHaveLength(0);
  });

  it('J9: takes identity, and does not open what is compressed without saying so', async () => {
    const json = { 'content-type': 'application/json' };
    expect(contentOf(await world.post(body(MODEL), CHAT, { ...json, 'content-encoding': 'Identity' }))).toBe(
      'mark-body',
    );
    expect(world.upstream.lastRequest.field('content-encoding')).toBeUndefined();
    world.upstream.requests = [];
    await refused(gzipSync(body(MODEL)));
  });

  // prettier-ignore
  it.each([
    'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/json', 'application/json-patch+json', 'application/jsonx', 'json', '', ' ', '/',
    'application/json;charset=latin1', 'application/json; charset=utf-16', 'application/json; charset="utf-8', 'application/json, text/plain', 'application/json; charset=utf-8; charset=utf-16',
    'application/json; boundary=x', 'application /json', '*/*', 'application/*', `application/json;${' '.repeat(8_000)}x`,
  ])('J7, J10: refuses the media type %j', async (type) => {
    for (const path of FIXED) expectProblem(await world.post(body(MODEL), path, { 'content-type': type }), 400, 415);
    expect(world.upstream.requests).toHaveLength(0);
  });

  it('J10: refuses a body without a media type', async () => {
    for (const path of FIXED) expectProblem(await world.post(body(MODEL), path, {}), 415);
    expect(world.upstream.requests).toHaveLength(0);
  });

  it.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json ; charset=UTF8',
  ])('J10: takes the media type %j', async (type) =>
    expect((await world.post(body(MODEL), CHAT, { 'content-type': type })).status).toBe(200),
  );

  const MEGABYTE = 1 << 20;
  // prettier-ignore
  it.each<[string, () => string, number]>([
    ['nesting of 513', () => body(MODEL, `"metadata":${'['.repeat(512)}${']'.repeat(512)}`), 400],
    ['nesting of objects', () => body(MODEL, `"metadata":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`), 400],
    ['unclosed nesting of 10 MB', () => body(MODEL, `"metadata":${'['.repeat(10 * MEGABYTE)}`), 400],
    ['200 000 members', () => body(MODEL, Array.from({ length: 200_000 }, (_, index) => `"k${String(index)}":0`).join(',')), 200],
    ['a key of a megabyte', () => body(MODEL, `"${'k'.repeat(MEGABYTE)}":0`), 200],
    ['a key of escapes', () => body(MODEL, `"${'\\u006d'.repeat(MEGABYTE)}":0`), 200],
    ['a number of 300 000 digits', () => body(MODEL, `"seed":${'9'.repeat(300_000)}`), 200],
    ['an exponent of 300 000 digits', () => body(MODEL, `"seed":1e${'9'.repeat(300_000)}`), 200],
    ['10 MB of white space', () => body(MODEL, ' '.repeat(10 * MEGABYTE) + '"seed":1'), 200],
    ['10 MB of escapes', () => body(MODEL, `"user":"${'\\"'.repeat(5 * MEGABYTE)}"`), 200],
    ['10 MB of quotes', () => body(MODEL, `"tags":[${'"",'.repeat(3 * MEGABYTE)}""]`), 200],
    ['100 000 messages', () => `{${MODEL},"messages":[${'{"role":"user","content":"a"},'.repeat(100_000)}{"role":"user","content":"mark-body"}]}`, 200],
  ])('J11: survives %s, and so does everybody else', async (_, build, status) => {
    const others = [world.canary('one'), world.ask({ method: 'GET', path: '/healthz' }).then((response) => response.status), world.canary('two')];
    const response = await world.post(build());
    expect(response.status).toBe(status);
    if (status !== 200) expectProblem(response, status);
    expect(await Promise.all(others)).toEqual(['mark-one', 200, 'mark-two']);
  });

  // prettier-ignore
  it.each([
    ['numbers', body('"seed":12345678901234567890,"temperature":1.0,"top_p":1E-2,"a":-0,"b":1e400,"c":0.10', MODEL)],
    ['order and repeated keys', body('"z":1,"a":2,"z":3', MODEL)],
    ['escapes', body('"user":"\\u00e9\\/\\ud83d\\ude00 \u00e9 \u2028"', MODEL)],
    ['white space', `\r\n\t{ ${MODEL} ,\n\n${REST}\t}\r\n `],
    ['strange keys', body('"":0,"\\u0000":1,"__proto__":2', MODEL)],
    ['schemas', body('"tools":[{"type":"function","function":{"name":"f","parameters":{"$schema":"x","strict":true}}}]', MODEL)],
  ])('J12: hands on byte for byte: %s', async (_, text) => served(text));

  it('J12: replaces no more than the model of an alias', async () => {
    const text = (model: string) => `{ "seed":1.0 ,\n${model}, "a":"\\u0061",${REST}}`;
    expect((await world.post(text('"model" : "evil"'), '/v1/alias/chat/completions')).status).toBe(200);
    expect(world.upstream.lastRequest.body.toString()).toBe(text('"model" : "demo-chat"'));
    expect((await world.post(`{${REST}}`, '/v1/alias/chat/completions')).status).toBe(200);
    expect(modelsIn(world.upstream.lastRequest.body.toString())).toEqual(['demo-chat']);
  });

  it('J13: sends the engine nothing before the last byte has been checked', async () => {
    const { connections } = world.upstream;
    const connection = await world.connect();
    const text = body(MODEL);
    connection.send(
      `POST ${CHAT} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${String(text.length)}\r\n\r\n`,
    );
    connection.send(text.slice(0, -1));
    await delay(150);
    expect(world.upstream.connections).toBe(connections);
    expect(await world.slotsInUse()).toBe(0);
    connection.send(']');
    expectProblem(await connection.response(), 400);
    connection.destroy();
    expect(world.upstream.requests).toHaveLength(0);
    expect(world.upstream.connections).toBe(connections);
    expect(await world.canary('after')).toBe('mark-after');
    expect(chatBody('after')).toBe(world.upstream.lastRequest.body.toString());
  });
});
