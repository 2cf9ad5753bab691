import { chatBody, CHAT, chatRequest, EdgeWorld, expectProblem } from '../support/edge-world.js';
import { requestBytes } from '../support/raw-client.js';

const BODY = chatBody('first');
const CHUNKED = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
const LINE = `POST ${CHAT} HTTP/1.1`;
const HOST = 'Host: gateway.test';
const JSON_TYPE = 'Content-Type: application/json';
const LENGTH = `Content-Length: ${String(BODY.length)}`;
const CODING = 'Transfer-Encoding: chunked';

/** A message from its lines; nothing is added to them. */
const message = (lines: readonly string[], body: string): string => `${[...lines, '', ''].join('\r\n')}${body}`;
const fixed = (...lines: string[]): string => message([LINE, HOST, JSON_TYPE, ...lines], BODY);
const coded = (...lines: string[]): string => message([LINE, HOST, JSON_TYPE, ...lines], CHUNKED);
/** A chunked body that is written out. */
const chunks = (body: string): string => message([LINE, HOST, JSON_TYPE, CODING], body);
/** A field between others, written out with its line end. */
const raw = (field: string): string => `${LINE}\r\n${HOST}\r\n${field}${JSON_TYPE}\r\n${LENGTH}\r\n\r\n${BODY}`;

describe('message framing', () => {
  let world: EdgeWorld;

  beforeAll(async () => {
    world = await EdgeWorld.start();
  }, 60_000);

  afterAll(() => world.stop());

  // F8 and F13 for every row: nothing behind a refused message runs, and the next caller gets its own answer.
  const refuses = (bytes: string, statuses: readonly number[]) => async (): Promise<void> => {
    const { connections } = world.upstream;
    world.upstream.requests = [];
    const response = await world.refusal(bytes);
    expectProblem(response, ...statuses);
    expect(response.header('connection')).toBe('close');
    expect(world.upstream.requests).toHaveLength(0);
    expect(world.upstream.connections).toBe(connections);
    expect(await world.slotsInUse()).toBe(0);
    expect(await world.canary('next')).toBe('mark-next');
  };

  const table = (
    rows: readonly (readonly [id: string, what: string, bytes: string, ...statuses: number[]])[],
  ): void => {
    for (const [id, what, bytes, ...statuses] of rows) {
      it(
        `${id}, F8: refuses ${what}, closes, and runs nothing behind it`,
        refuses(bytes, statuses.length > 0 ? statuses : [400]),
      );
    }
  };

  table([
    ['F1', 'a length before a coding', coded(LENGTH, CODING)],
    ['F1', 'a coding before a length', coded(CODING, LENGTH)],
    ['F1', 'a coding and the length 0', coded(CODING, 'Content-Length: 0')],
    ['F2', 'two equal lengths', fixed(LENGTH, LENGTH)],
    ['F2', 'two different lengths', fixed(LENGTH, 'Content-Length: 5')],
    ['F2', 'a list of lengths', fixed(`${LENGTH}, ${String(BODY.length)}`)],
    ['F2', 'a signed length', fixed('Content-Length: +5')],
    ['F2', 'a negative length', fixed('Content-Length: -1')],
    ['F2', 'a hexadecimal length', fixed('Content-Length: 0x5')],
    ['F2', 'an empty length', fixed('Content-Length:')],
    ['F2', 'a length of two words', fixed('Content-Length: 5 5')],
    ['F2', 'a length that overflows', fixed('Content-Length: 99999999999999999999999')],
    ['F2', 'a length with an exponent', fixed('Content-Length: 1e1')],
  ]);

  table([
    ['F3', 'gzip, chunked', coded('Transfer-Encoding: gzip, chunked'), 400, 501],
    ['F3', 'identity, chunked', coded('Transfer-Encoding: identity, chunked'), 400, 501],
    ['F3', 'chunked, identity', coded('Transfer-Encoding: chunked, identity'), 400, 501],
    ['F3', 'chunked, chunked', coded('Transfer-Encoding: chunked, chunked'), 400, 501],
    ['F3', 'xchunked', coded('Transfer-Encoding: xchunked'), 400, 501],
    ['F3', 'identity', coded('Transfer-Encoding: identity'), 400, 501],
    ['F3', 'a quoted coding', coded('Transfer-Encoding: "chunked"'), 400, 501],
    ['F3', 'a coding with a parameter', coded('Transfer-Encoding: chunked;q=1'), 400, 501],
    ['F3', 'no coding at all', coded('Transfer-Encoding:'), 400, 501],
    ['F3', 'a repeated coding', coded(CODING, CODING), 400, 501],
    ['F3', 'a coding behind a vertical tab', coded('Transfer-Encoding: \x0bchunked'), 400, 501],
    ['F4', 'a coding in HTTP/1.0', message([`POST ${CHAT} HTTP/1.0`, HOST, JSON_TYPE, CODING], CHUNKED)],
  ]);

  table([
    ['F5', 'a space before the colon', raw('X-A : b\r\n')],
    [
      'F5',
      'a space before the colon of a length',
      `${LINE}\r\n${HOST}\r\n${JSON_TYPE}\r\nContent-Length : 5\r\n\r\n${BODY}`,
    ],
    ['F5', 'a folded line', raw('X-A: b\r\n c\r\n')],
    ['F5', 'a line folded with a tab', raw('X-A: b\r\n\tc\r\n')],
    ['F5', 'a first field that is folded', `${LINE}\r\n ${HOST}\r\n\r\n`],
    ['F5', 'a bare CR', raw('X-A: b\rX-B: c\r\n')],
    ['F5', 'a bare LF', raw('X-A: b\nX-B: c\r\n')],
    ['F5', 'LF alone at every line', `${LINE}\n${HOST}\n${JSON_TYPE}\n${LENGTH}\n\n${BODY}`],
    ['F5', 'a head that ends with LF alone', `${LINE}\r\n${HOST}\r\n${JSON_TYPE}\r\n${LENGTH}\n\n${BODY}`],
    ['F5', 'NUL in a value', raw('X-A: b\0c\r\n')],
    ['F5', 'NUL in a name', raw('X\0A: b\r\n')],
    ['F5', 'a control byte', raw('X-A: b\x01c\r\n')],
    ['F5', 'DEL', raw('X-A: b\x7fc\r\n')],
    ['F5', 'a line without a colon', raw('X-A\r\n')],
    ['F5', 'a field without a name', raw(': b\r\n')],
  ]);

  table([
    ['F6', 'a chunk size with a plus', chunks(`+${CHUNKED}`)],
    ['F6', 'a chunk size with a minus', chunks(`-${CHUNKED}`)],
    ['F6', 'a chunk size with 0x', chunks(`0x${CHUNKED}`)],
    ['F6', 'a chunk size that overflows', chunks(`10000000000000000${CHUNKED}`)],
    ['F6', 'a chunk size that is no number', chunks(`zz\r\n${BODY}\r\n0\r\n\r\n`)],
    ['F6', 'no chunk size', chunks(`\r\n${BODY}\r\n0\r\n\r\n`)],
    ['F6', 'a chunk without its CRLF', chunks(`${BODY.length.toString(16)}\r\n${BODY}0\r\n\r\n`)],
    ['F6', 'a chunk longer than its size', chunks(`5\r\n${BODY}\r\n0\r\n\r\n`)],
    ['F6', 'LF alone behind a chunk size', chunks(CHUNKED.replace('\r\n', '\n'))],
    ['F6', 'LF inside a chunk extension', chunks(CHUNKED.replace('\r\n', ';a=b\nc\r\n'))],
    ['F6', 'CR inside a chunk extension', chunks(CHUNKED.replace('\r\n', ';a=b\rc\r\n'))],
  ]);

  table([
    ['F7', 'no Host', message([LINE, JSON_TYPE, LENGTH], BODY)],
    ['F7', 'an empty Host', message([LINE, 'Host:', JSON_TYPE, LENGTH], BODY)],
    ['F7', 'a Host of white space', message([LINE, 'Host: \t ', JSON_TYPE, LENGTH], BODY)],
    ['F7', 'two equal Hosts', fixed(HOST, LENGTH)],
    ['F7', 'two different Hosts', fixed('Host: other.test', LENGTH)],
    ['F7', 'HTTP/0.9', 'GET /v1/models\r\n\r\n', 400, 505],
    ['F7', 'HTTP/2.0', message([LINE.replace('1.1', '2.0'), HOST, JSON_TYPE, LENGTH], BODY), 400, 505],
    ['F7', 'HTTP/1.2', message([LINE.replace('1.1', '1.2'), HOST, JSON_TYPE, LENGTH], BODY), 400, 505],
    ['F7', 'HTTP/0.9 with fields', message([LINE.replace('1.1', '0.9'), HOST, JSON_TYPE, LENGTH], BODY), 400, 505],
    [
      'F7',
      'a version of other digits',
      message([LINE.replace('1.1', '1.10'), HOST, JSON_TYPE, LENGTH], BODY),
      400,
      505,
    ],
    ['F7', 'a version in lower case', message([LINE.replace('HTTP', 'http'), HOST, JSON_TYPE, LENGTH], BODY), 400, 505],
    ['F7', 'the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 505],
    ['F7', 'the hello of TLS', '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03', 400, 501],
  ]);

  table([
    ['F11', 'two Authorization fields', fixed(LENGTH, 'Authorization: Bearer a', 'Authorization: Bearer b')],
    ['F11', 'two Content-Type fields', fixed(LENGTH, JSON_TYPE)],
    ['F11', 'two Content-Encoding fields', fixed(LENGTH, 'Content-Encoding: identity', 'Content-Encoding: identity')],
    ['F11', 'two Expect fields', fixed(LENGTH, 'Expect: 100-continue', 'Expect: 100-continue')],
    ['F11', 'two x-api-key fields in different case', fixed(LENGTH, 'x-api-key: a', 'X-API-Key: b')],
  ]);

  it('F13: answers every caller of a busy moment with its own answer', async () => {
    const broken = [coded(LENGTH, CODING), chunks(`+${CHUNKED}`), raw('X-A : b\r\n'), fixed(LENGTH, JSON_TYPE)];
    const marks = Array.from({ length: 40 }, (_, index) => `m${String(index)}`);
    const refusals = marks.map((_, index) => world.refusal(broken[index % broken.length] ?? ''));
    const answers = await Promise.all(marks.map((mark) => world.canary(mark)));
    expect(answers).toEqual(marks.map((mark) => `mark-${mark}`));
    for (const response of await Promise.all(refusals)) expectProblem(response, 400);
  });

  it('F8, G7: runs pipelined requests one after another, and none behind an answer that closes', async () => {
    world.upstream.requests = [];
    const refused = { ...chatRequest('second'), headers: { host: 'gateway.test', 'content-type': 'text/plain' } };
    const connection = await world.connect();
    connection.send(Buffer.concat([chatRequest('first'), refused, chatRequest('third')].map(requestBytes)));
    const first = await connection.response();
    const second = await connection.response();
    expect(first.status).toBe(200);
    expectProblem(second, 415);
    await connection.closed;
    expect(world.upstream.requests.map(({ body }) => body.toString())).toEqual([chatBody('first')]);
    expect(await world.canary('next')).toBe('mark-next');
  });
});
