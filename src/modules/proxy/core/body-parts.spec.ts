import { BodyParts } from './body-parts.js';

const joined = (...pieces: readonly string[]): string => {
  const parts = new BodyParts(0, true);
  for (const piece of pieces) parts.add(Buffer.from(piece));
  return parts.joined().toString();
};

describe('the parts of a body', () => {
  it('are nothing where there are none', () => {
    expect(joined()).toBe('');
  });

  it('are the one piece itself where there is one', () => {
    const parts = new BodyParts(0, true);
    const piece = Buffer.from('{"model":"a"}');
    parts.add(piece);
    expect(parts.joined()).toBe(piece);
  });

  it('stay in their order, small and large ones mixed', () => {
    const pieces = Array.from({ length: 200 }, (_, at) =>
      String.fromCharCode(97 + (at % 26)).repeat(at % 7 === 0 ? 3000 : at),
    );
    expect(joined(...pieces)).toBe(pieces.join(''));
  });

  it('are put together over several blocks, a byte each', () => {
    const text = Array.from({ length: 50_000 }, (_, at) => String.fromCharCode(97 + (at % 26))).join('');
    expect(joined(...text)).toBe(text);
  });

  it('lie in their place from the start where a large body is declared', () => {
    const pieces = Array.from({ length: 100 }, (_, at) => String.fromCharCode(97 + (at % 26)).repeat(3000));
    const parts = new BodyParts(300_000, true);
    for (const piece of pieces) parts.add(Buffer.from(piece));
    expect(parts.joined().toString()).toBe(pieces.join(''));
    expect(parts.joined().buffer.byteLength).toBe(300_000);
  });

  it('take what comes beyond the declared length, too', () => {
    const parts = new BodyParts(256 * 1024, true);
    parts.add(Buffer.alloc(200 * 1024, 'a'));
    parts.add(Buffer.alloc(100 * 1024, 'b'));
    expect(parts.joined().toString()).toBe('a'.repeat(200 * 1024) + 'b'.repeat(100 * 1024));
  });

  it('leave pieces alone that somebody else still reads', () => {
    const parts = new BodyParts(0, false);
    const given = Array.from({ length: 6 }, (_, at) => Buffer.alloc(64 * 1024, String(at)));
    for (const piece of given) parts.add(piece);
    expect(parts.joined()).toEqual(Buffer.concat(given));
    expect(given.map(({ length }) => length)).toEqual(Array.from({ length: 6 }, () => 64 * 1024));
  });

  it('give back the memory of what they have copied', () => {
    const pieces = (): Buffer[] => Array.from({ length: 6 }, (_, at) => Buffer.alloc(64 * 1024, String(at)));
    const whole = Buffer.concat(pieces());
    for (const declaredBytes of [0, whole.length]) {
      const parts = new BodyParts(declaredBytes, true);
      const given = pieces();
      for (const piece of given) parts.add(piece);
      expect(parts.joined().equals(whole)).toBe(true);
      expect(parts.joined().equals(whole)).toBe(true);
      expect(given.map(({ length }) => length)).toEqual([0, 0, 0, 0, 0, 0]);
    }
  });
});
