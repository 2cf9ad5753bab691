import { readRequestText } from './request-text.js';

const wire = (text: string): string => readRequestText(Buffer.from(text, 'latin1')).bytes.toString('latin1');

it('adds what a client adds by itself', () => {
  expect(wire('post /v1/x\n{"a":1}')).toBe(
    'POST /v1/x HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 7\r\n\r\n{"a":1}',
  );
});

it('keeps what is written, whatever its line ends', () => {
  const head = 'GET /x?y=1 HTTP/1.0\r\nHost: api\r\nConnection: keep-alive\r\nx-empty:\r\n\r\n';
  expect(wire(head)).toBe(head.replace('x-empty:', 'x-empty: '));
  expect(wire(head.replaceAll('\r\n', '\n'))).toBe(head.replace('x-empty:', 'x-empty: '));
});

it.each([
  ['behind an empty line', 'POST /x\n\n{"a":\n1}\n', '{"a":\n1}\n'],
  ['right behind the first line', 'POST /x\n{"a":\n1}\n', '{"a":\n1}\n'],
  ['right behind the headers', 'POST /x\nx-a: b\n{"a":1}', '{"a":1}'],
  ['that looks like headers', 'POST /x\n\na: b\n\nc', 'a: b\n\nc'],
  ['of any bytes', 'POST /x\n\n\u00ff\u0000\r\n\n', '\u00ff\u0000\r\n\n'],
  ['that is not there', 'GET /x', ''],
])('finds a body %s', (_, text, body) => {
  expect(readRequestText(Buffer.from(text, 'latin1')).body.toString('latin1')).toBe(body);
});

it.each(['', '\n', 'hello', 'GET', 'GET x', 'GET /x HTTP/1', 'GET /x y', '{"model":"x"}'])('refuses %j', (text) => {
  expect(() => readRequestText(Buffer.from(text))).toThrow('the first line must be METHOD /path');
});
