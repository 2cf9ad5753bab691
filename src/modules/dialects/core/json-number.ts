import { isDigit, type JsonBytes } from './json-bytes.js';

/** A number written longer is no count, and is not converted. */
const MAX_NUMBER_BYTES = 32;
const MAX_EXACT_DIGITS = 15;

/** The number that stands there; NaN for what is no number: its quote, bracket or letter makes it so. */
export function numberAt(json: JsonBytes, start: number, end: number): number {
  return digits(json, start, end) ?? converted(json, start, end);
}

/** A number as it is nearly always written; undefined: it has other than digits, or too many to be exact. */
function digits(json: JsonBytes, start: number, end: number): number | undefined {
  if (end - start > MAX_EXACT_DIGITS) return undefined;
  let value = 0;
  for (let at = start; at < end; at++) {
    const byte = json.byte(at);
    if (!isDigit(byte)) return undefined;
    value = 10 * value + byte - 0x30;
  }
  return value;
}

function converted(json: JsonBytes, start: number, end: number): number {
  if (end - start > MAX_NUMBER_BYTES) return NaN;
  // The sum makes a 0 of -0.
  return Number(json.bytes.toString('latin1', start, end)) + 0;
}
