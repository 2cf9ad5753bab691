import fc from 'fast-check';
import { eventBytes, eventFields, type EventSink, EventSplitter } from './sse.js';

/** What a splitter with this limit finds in these pieces. */
function found(pieces: readonly string[], limitBytes = 1024): string[] {
  const seen: string[] = [];
  const sink: EventSink = {
    event: (bytes) => seen.push(`event ${bytes.toString()}`),
    part: (bytes, last) => seen.push(`${last ? 'last' : 'part'} ${bytes.toString()}`),
    lineFeed: () => seen.push('lineFeed'),
  };
  const splitter = new EventSplitter(sink, limitBytes);
  for (const piece of pieces) splitter.push(Buffer.from(piece));
  const rest = splitter.takeRest().toString();
  return rest === '' ? seen : [...seen, `rest ${rest}`];
}

describe('EventSplitter', () => {
  it.each(['\n', '\r\n', '\r'])('cuts at blank lines that end in %j', (end) => {
    const one = `data: a${end}data: b${end}${end}`;
    expect(found([`${one}${one}data: c${end}`])).toEqual([`event ${one}`, `event ${one}`, `rest data: c${end}`]);
  });

  it('holds an event that is not finished', () => {
    expect(found(['da', 'ta: a\n', '\nx'])).toEqual(['event data: a\n\n', 'rest x']);
  });

  it('waits for no LF behind a CR, and knows it when it comes', () => {
    expect(found(['data: a\r\n\r', '\ndata: b\r\n\r\n'])).toEqual([
      'event data: a\r\n\r',
      'lineFeed',
      'event data: b\r\n\r\n',
    ]);
  });

  it('takes a CRLF that is cut in two for one line end', () => {
    expect(found(['data: a\r', '\ndata: b\n\n'])).toEqual(['event data: a\r\ndata: b\n\n']);
  });

  it('hands an event over the limit on in parts, and goes on behind it', () => {
    expect(found(['0123', '4567', '89\n\ndata\n\n'], 6)).toEqual(['part 01234567', 'last 89\n\n', 'event data\n\n']);
    expect(found(['0123456789\n\n'], 6)).toEqual(['last 0123456789\n\n']);
  });

  it('keeps every byte, in order, wherever it is cut', () => {
    const noise = fc.array(fc.string({ unit: fc.constantFrom('a', ':', '\n', '\r'), maxLength: 6 }), { maxLength: 12 });
    fc.assert(
      fc.property(noise, fc.constantFrom(4, 1024), (pieces, limit) => {
        const bytes = found(pieces, limit).map((line) =>
          line === 'lineFeed' ? '\n' : line.slice(line.indexOf(' ') + 1),
        );
        expect(bytes.join('')).toBe(pieces.join(''));
      }),
    );
  });

  it('finds the same events byte by byte as in one piece', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 40 }), (stream) => {
        expect(found([...stream])).toEqual(found([stream]));
      }),
    );
  });
});

it.each([
  ['data: a\n\n', { data: 'a' }],
  ['data:a\r\ndata:  b\r\n\r\n', { data: 'a\n b' }],
  ['\uFEFFevent: x\rdata\r\r', { event: 'x', data: '' }],
  [': data: no\nid: 3\nretry: 1\n\n', {}],
  ['event:x\n\n', { event: 'x' }],
])('reads the fields of %j', (bytes, fields) => {
  expect(eventFields(Buffer.from(bytes))).toEqual({ event: undefined, data: undefined, ...fields });
});

it('writes events', () => {
  expect(eventBytes('{"a":\n1}', 'x').toString()).toBe('event: x\ndata: {"a":\ndata: 1}\n\n');
  expect(eventBytes('[DONE]').toString()).toBe('data: [DONE]\n\n');
});
