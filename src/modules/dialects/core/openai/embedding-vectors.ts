import { elementSpans, spanOf } from '../json-splice.js';
import { parsedJson } from '../json-value.js';

/** How a caller wants its vectors: base64 of little-endian float32, or lists of numbers. */
export type VectorEncoding = 'base64' | 'float';

const FLOAT_BYTES = 4;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * The answer with its vectors in the encoding that was asked for, everything else byte for byte; the same buffer where
 * they are in it already. A vector that is neither a list of numbers nor base64 of whole floats stays as it is.
 */
export function withVectors(body: Buffer, encoding: VectorEncoding): Buffer {
  // latin1 keeps every byte in its place, whatever it belongs to.
  const text = body.toString('latin1');
  const pieces: string[] = [];
  let copied = 0;
  for (const { start, end } of elementSpans(text, ['data'])) {
    const element = text.slice(start, end);
    const vector = spanOf(element, ['embedding']);
    const recoded = vector && recode(element.slice(vector.start, vector.end), encoding);
    if (vector === undefined || recoded === undefined) continue;
    pieces.push(text.slice(copied, start + vector.start), recoded);
    copied = start + vector.end;
  }
  if (pieces.length === 0) return body;
  return Buffer.from(pieces.join('') + text.slice(copied), 'latin1');
}

function recode(source: string, encoding: VectorEncoding): string | undefined {
  if (encoding === 'base64') return source.startsWith('[') ? base64Of(parsedJson(source)) : undefined;
  return source.startsWith('"') ? numbersOf(source.slice(1, -1).replaceAll('\\/', '/')) : undefined;
}

function base64Of(vector: unknown): string | undefined {
  if (!Array.isArray(vector) || !vector.every((value) => typeof value === 'number')) return undefined;
  const bytes = Buffer.allocUnsafe(vector.length * FLOAT_BYTES);
  vector.forEach((value: number, index) => bytes.writeFloatLE(value, index * FLOAT_BYTES));
  return `"${bytes.toString('base64')}"`;
}

function numbersOf(base64: string): string | undefined {
  if (!BASE64.test(base64)) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length % FLOAT_BYTES !== 0) return undefined;
  const values = Array.from({ length: bytes.length / FLOAT_BYTES }, (_, index) =>
    bytes.readFloatLE(index * FLOAT_BYTES),
  );
  return values.every(Number.isFinite) ? JSON.stringify(values) : undefined;
}
