import { BodyParts } from './body-parts.js';

const joined = (...pieces: readonly string[]): string => {
  const parts = new BodyParts();
  for (const piece of pieces) parts.add(Buffer.from(piece));
  return parts.joined().toString();
};

describe('the parts of a body', () => {
  it('are nothing where there are none', () => {
    expect(joined()).toBe('');
  });

  it('are the one piece itself where there is one', () => {
    const parts = new BodyParts();
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
});
