import type { JsonBytes } from './json-bytes.js';

const COMMA = 0x2c;
const CLOSE_BRACE = 0x7d;
const CLOSE_BRACKET = 0x5d;

/** Where a value stands, without the space around it. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Where a member of an object stands: its key with the quotes, its value without the space around it. */
export interface Member {
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/**
 * Visits the members of the object that opens at `open`, in order, and returns the index behind it. The visitor reads
 * the value, by `endOfValue` or by a walk of its own, and returns the index behind that: no byte is read twice.
 */
export function eachMember(
  json: JsonBytes,
  open: number,
  visit: (keyStart: number, keyEnd: number, valueStart: number) => number,
): number {
  let at = json.skipSpace(open + 1);
  if (json.byte(at) === CLOSE_BRACE) return at + 1;
  for (;;) {
    const keyEnd = json.endOfKey(at);
    at = json.skipSpace(visit(at, keyEnd, json.startOfValue(keyEnd)));
    if (json.byte(at) === CLOSE_BRACE) return at + 1;
    if (json.byte(at) !== COMMA) throw json.fault(at, 'a comma or "}"');
    at = json.skipSpace(at + 1);
  }
}

/** Visits the elements of the array that opens at `open`; otherwise as `eachMember`. */
export function eachElement(json: JsonBytes, open: number, visit: (start: number) => number): number {
  let at = json.skipSpace(open + 1);
  if (json.byte(at) === CLOSE_BRACKET) return at + 1;
  for (;;) {
    at = json.skipSpace(visit(at));
    if (json.byte(at) === CLOSE_BRACKET) return at + 1;
    if (json.byte(at) !== COMMA) throw json.fault(at, 'a comma or "]"');
    at = json.skipSpace(at + 1);
  }
}
