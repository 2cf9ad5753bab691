import { ContinueFilter, MAX_CONTINUES, MAX_HELD_BYTES } from './continue-filter.js';

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const HINTS = 'HTTP/1.1 103 Early Hints\r\nlink: </x>; rel=preload\r\nlink: </y>\r\n\r\n';
const ANSWER = `HTTP/1.1 200 OK\r\ncontent-length: ${String(CONTINUE.length)}\r\n\r\n${CONTINUE}`;

const expecting = (): ContinueFilter => {
  const filter = new ContinueFilter();
  filter.expectAnswer();
  return filter;
};

/** What passes of these pieces, as one text. */
const passed = (filter: ContinueFilter, ...pieces: readonly string[]): string =>
  pieces.map((piece) => filter.pass(Buffer.from(piece, 'latin1'))?.toString('latin1') ?? '').join('');

describe('ContinueFilter', () => {
  it('hands on an answer as it is: the same bytes, not a copy', () => {
    const filter = expecting();
    const bytes = Buffer.from(ANSWER);
    expect(filter.pass(bytes)).toBe(bytes);
    expect(filter.looking).toBe(false);
  });

  it.each([
    ['a 100', CONTINUE, ''],
    ['one with fields', 'HTTP/1.1 100 Continue\r\nserver: engine\r\nx: \xe4\r\n\r\n', ''],
    ['one without a reason', 'HTTP/1.1 100 \r\n\r\n', ''],
    ['one without a space', 'HTTP/1.1 100\r\n\r\n', ''],
    ['three of them', CONTINUE.repeat(3), ''],
    ['100, then 103', CONTINUE + HINTS, HINTS],
    ['103, then 100', HINTS + CONTINUE, HINTS],
    ['all mixed', HINTS + CONTINUE.repeat(2) + HINTS + CONTINUE, HINTS + HINTS],
  ])('takes out %s, wherever the bytes are cut', (_, early, left) => {
    const whole = early + ANSWER;
    for (let cut = 0; cut <= whole.length; cut++)
      expect(passed(expecting(), whole.slice(0, cut), whole.slice(cut))).toBe(left + ANSWER);
    expect(passed(expecting(), ...whole)).toBe(left + ANSWER);
  });

  it.each([
    ['an answer whose body begins like one', ANSWER],
    ['another status', 'HTTP/1.1 1000 Continue\r\n\r\n'],
    ['an answer of HTTP/1.0', 'HTTP/1.0 100 Continue\r\n\r\n'],
    ['a switch of protocols', 'HTTP/1.1 101 Switching Protocols\r\n\r\nHTTP'],
    ['lines that end in LF alone', 'HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\r\n\r\n'],
    ['a CR on its own', 'HTTP/1.1 100 Con\rtinue\r\n\r\n'],
    ['a status that is no number', 'HTTP/1.1 1xx Continue\r\n\r\n'],
    ['what is not HTTP', 'SSH-2.0-OpenSSH_9.9\r\n'],
    ['something short that is not HTTP', 'hello'],
  ])('hands on %s, and holds nothing back of it', (_, bytes) => {
    expect(passed(expecting(), bytes)).toBe(bytes);
    expect(passed(expecting(), ...bytes)).toBe(bytes);
  });

  it('looks at nothing behind the head of an answer, until the next request goes out', () => {
    const filter = expecting();
    expect(passed(filter, ANSWER, CONTINUE)).toBe(ANSWER + CONTINUE);
    filter.expectAnswer();
    expect(passed(filter, CONTINUE, ANSWER)).toBe(ANSWER);
  });

  it('hands on what nobody has asked for', () => {
    expect(passed(new ContinueFilter(), CONTINUE)).toBe(CONTINUE);
  });

  it('takes out so many before one answer, and hands on the next', () => {
    const filter = expecting();
    expect(passed(filter, CONTINUE.repeat(MAX_CONTINUES + 1) + ANSWER)).toBe(CONTINUE + ANSWER);
    filter.expectAnswer();
    expect(passed(filter, CONTINUE.repeat(MAX_CONTINUES), ANSWER)).toBe(ANSWER);
  });

  it('holds no more than a head may have', () => {
    const filter = expecting();
    const piece = `x: ${'y'.repeat(1000)}\r\n`;
    const count = Math.ceil(MAX_HELD_BYTES / piece.length);
    const endless = 'HTTP/1.1 100 Continue\r\n' + piece.repeat(count);
    expect(passed(filter, 'HTTP/1.1 100 Continue\r\n', ...Array<string>(count).fill(piece))).toBe(endless);
    expect(filter.looking).toBe(false);
  });
});
