import { HttpResponseParser, headerOf, type ResponseHead } from './http-response-parser.js';

interface Parsed {
  head?: ResponseHead;
  body: string;
  end?: string;
}

function parse(
  bytes: string,
  { method = 'GET', piece = bytes.length, close }: { method?: string; piece?: number; close?: boolean } = {},
): Parsed {
  const parsed: Parsed = { body: '' };
  const parser = new HttpResponseParser(method, {
    head: (head) => (parsed.head = head),
    body: (part) => (parsed.body += part.toString('latin1')),
    end: (how) => (parsed.end = how),
  });
  const all = Buffer.from(bytes, 'latin1');
  for (let from = 0; from < all.length; from += piece) parser.push(all.subarray(from, from + piece));
  if (close !== undefined) parser.close(close);
  return parsed;
}

const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

describe('HttpResponseParser', () => {
  it.each([1, 3, 1_000])('reads chunks, however the bytes are cut (%i at a time)', (piece) => {
    const parsed = parse(`${CHUNKED}3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nt: 1\r\n\r\n`, { piece });
    expect(parsed).toMatchObject({ body: 'abc0123456789', end: 'clean', head: { status: 200, reason: 'OK' } });
  });

  it('reads a body by its length', () => {
    expect(parse('HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno')).toMatchObject({ body: 'no', end: 'clean' });
  });

  it('passes over 1xx heads', () => {
    const parsed = parse('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
    expect(parsed).toMatchObject({ head: { status: 200 }, end: 'clean' });
  });

  it('expects no body after HEAD and with 204', () => {
    expect(parse('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n', { method: 'HEAD' }).end).toBe('clean');
    expect(parse('HTTP/1.1 204 No Content\r\n\r\n').end).toBe('clean');
  });

  it('tells a cut from an end', () => {
    expect(parse(`${CHUNKED}3\r\nabc\r\n`, { close: true })).toMatchObject({ body: 'abc', end: 'cut' });
    expect(parse('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabc', { close: true }).end).toBe('cut');
    expect(parse('HTTP/1.1 200 OK\r\n\r\nabc', { close: true })).toMatchObject({ body: 'abc', end: 'clean' });
    expect(parse('HTTP/1.1 200 OK\r\n\r\nabc', { close: false }).end).toBe('cut');
    expect(parse(CHUNKED).end).toBeUndefined();
  });

  it.each(['HTTP/2 200\r\n\r\n', 'HTTP/1.1 200 OK\r\nbad\r\n\r\n', `${CHUNKED}zz\r\n`, `${CHUNKED}1\r\nab\r\n`])(
    'refuses %j',
    (bytes) => {
      expect(() => parse(bytes)).toThrow(/not a|longer/);
    },
  );

  it('puts a repeated header together', () => {
    const { head } = parse('HTTP/1.1 204 x\r\nA: 1\r\na: 2\r\n\r\n');
    expect(head && headerOf(head, 'a')).toBe('1, 2');
  });
});
