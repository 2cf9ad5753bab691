import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import loadWabt from 'wabt';
import { GatewayProblem } from '../../../common/problem/gateway-problem.js';
import { JsonBytes } from './json-bytes.js';
import { TEXT_STOP_WASM } from './text-stop-wasm.js';
import { TextStop } from './text-stop.js';

const WINDOW_BYTES = 65_536;

function made(): TextStop {
  const textStop = TextStop.make();
  if (textStop === null) throw new Error('WebAssembly with SIMD does not run here');
  return textStop;
}

/** What reading a string says: where it ends, or what is wrong with it. */
function readingOf(bytes: Buffer, textStop: TextStop | null): number | string {
  const json = new JsonBytes(bytes, textStop);
  try {
    return json.endOfValue(0, 0);
  } catch (error) {
    if (error instanceof GatewayProblem) return error.message;
    throw error;
  }
}

function expectAlike(bytes: Buffer): number | string {
  const plain = readingOf(bytes, null);
  expect(readingOf(bytes, made())).toBe(plain);
  return plain;
}

const ESCAPES = ['\\"', '\\\\', '\\/', '\\b', '\\n', '\\u00e9', '\\uD83D\\uDE00'];
const FAULTS = ['\\x', '\\u12g4', '\\u', '\n', '\0', '\x1f', '\\\n', '"'];
const piece = fc.oneof(
  { weight: 6, arbitrary: fc.string({ maxLength: 80 }).map((text) => JSON.stringify(text).slice(1, -1)) },
  { weight: 3, arbitrary: fc.constantFrom(...ESCAPES) },
  { weight: 2, arbitrary: fc.constantFrom('é', '潮の満ち引き', '\u007f', 'x'.repeat(64)) },
);
const text = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));

describe('TextStop', () => {
  it('is what its source says', async () => {
    const wabt = await loadWabt();
    const source = readFileSync(new URL('./text-stop.wat', import.meta.url), 'utf8');
    const { buffer } = wabt.parseWat('text-stop.wat', source, { simd: true }).toBinary({});
    expect(TEXT_STOP_WASM.equals(buffer)).toBe(true);
  });

  it('reads any string as it is read without it, to its end', () => {
    fc.assert(
      fc.property(text, fc.nat(70), (content, lead) => {
        const bytes = Buffer.from(`"${'a'.repeat(lead)}${content}"`);
        expect(expectAlike(bytes)).toBe(bytes.length);
      }),
      { numRuns: 500 },
    );
  });

  it('finds the same fault in a string, at the same place', () => {
    fc.assert(
      fc.property(text, fc.constantFrom(...FAULTS), text, (before, fault, after) => {
        expectAlike(Buffer.from(`"${'a'.repeat(70)}${before}${fault}${after}"`));
      }),
      { numRuns: 500 },
    );
    expect(readingOf(Buffer.from(`"${'a'.repeat(100)}\\x"`), made())).toContain('at byte 102 a valid escape');
    expect(readingOf(Buffer.from(`"${'a'.repeat(100)}\u0001"`), made())).toContain('at byte 101 the rest of a string');
    expect(readingOf(Buffer.from(`"${'a'.repeat(100)}`), made())).toContain('at its end, byte 101');
  });

  it.each([1, 2, 3, 4, 63, 64, 65, 200])(
    'knows over the edge of what is laid out what %d backslashes escape',
    (run) => {
      for (let before = WINDOW_BYTES - run - 2; before <= WINDOW_BYTES + 66; before++) {
        const bytes = Buffer.from(`"${'a'.repeat(before)}${'\\'.repeat(run)}"`);
        const closed = expectAlike(bytes) === bytes.length;
        expect(closed).toBe(run % 2 === 0);
      }
    },
  );

  it('reads a text of several windows that escapes again and again', () => {
    for (const repeated of ['\\\\', '\\"', '\\u6f6e', 'a\\n', 'ab\\"', `${'x'.repeat(61)}\\u0041`]) {
      const bytes = Buffer.from(`"${repeated.repeat(Math.ceil((3 * WINDOW_BYTES) / repeated.length))}"`);
      expect(expectAlike(bytes)).toBe(bytes.length);
    }
  });

  it('does not take one body for another that is read in between', () => {
    const textStop = made();
    const first = new JsonBytes(Buffer.from(`["${'a'.repeat(300)}","${'b'.repeat(300)}"]`), textStop);
    const second = new JsonBytes(Buffer.from(`["${'\\"'.repeat(150)}","${'c'.repeat(90)}"]`), textStop);
    const ends = [first.endOfValue(1, 1), second.endOfValue(1, 1)];
    expect(ends).toEqual([303, 303]);
    expect([first.endOfValue(304, 1), second.endOfValue(304, 1)]).toEqual([606, 396]);
  });
});
