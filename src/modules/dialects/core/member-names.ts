import { isDigit, type JsonBytes } from './json-bytes.js';

/** The top-level members that the gateway reads. Each may stand once, so that every reader finds the same value. */
export const MEMBER_NAMES = [
  'model',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'n',
  'best_of',
  'messages',
  'prompt',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'input',
  'encoding_format',
  'query',
  'documents',
  'texts',
  'top_n',
  'return_documents',
  'raw_scores',
  'truncate',
  'truncation_direction',
] as const;
export type MemberName = (typeof MEMBER_NAMES)[number];

/** A name that the gateway reads; not exact: the key means it only to a reader that ignores case. */
export interface KnownName {
  readonly name: MemberName;
  readonly exact: boolean;
}

const BACKSLASH = 0x5c;
const SMALL_U = 0x75;
/** Two characters beyond ASCII which readers that ignore case take for an s and a k. */
const LONG_S = 0x17f;
const KELVIN = 0x212a;

const LONGEST_NAME = Math.max(...MEMBER_NAMES.map((name) => name.length));
/** Index: length. */
const NAMES_BY_LENGTH: readonly (readonly KnownName[])[] = Array.from({ length: LONGEST_NAME + 1 }, (_, length) =>
  MEMBER_NAMES.filter((name) => name.length === length).map((name) => ({ name, exact: true })),
);
/** The key that is looked at, character by character, in lower case. Looking is synchronous: one serves every body. */
const folded = new Uint8Array(LONGEST_NAME);

/** The name that a key means, however it is written. Nothing is allocated for a key that means none. */
export function knownName(json: JsonBytes, keyStart: number, keyEnd: number): KnownName | undefined {
  for (const known of NAMES_BY_LENGTH[keyEnd - keyStart - 2] ?? []) {
    if (json.says(keyStart, keyEnd, known.name)) return known;
  }
  return disguisedName(json, keyStart, keyEnd);
}

function disguisedName(json: JsonBytes, keyStart: number, keyEnd: number): KnownName | undefined {
  let length = 0;
  let exact = true;
  for (let at = keyStart + 1; at < keyEnd - 1; at += widthAt(json, at)) {
    const code = codeAt(json, at);
    const lower = lowerCase(code);
    if (lower === 0 || length === LONGEST_NAME) return undefined;
    folded[length++] = lower;
    exact &&= code === lower;
  }
  const known = NAMES_BY_LENGTH[length]?.find(isFolded);
  return known && { name: known.name, exact };
}

function isFolded({ name }: KnownName): boolean {
  for (let index = 0; index < name.length; index++) {
    if (folded[index] !== name.charCodeAt(index)) return false;
  }
  return true;
}

/** How many bytes the character takes that is written there. */
function widthAt(json: JsonBytes, at: number): number {
  const byte = json.byte(at);
  if (byte === BACKSLASH) return json.byte(at + 1) === SMALL_U ? 6 : 2;
  if (byte < 0x80) return 1;
  return byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/** The character that is written there; 0: one that no name can have. */
function codeAt(json: JsonBytes, at: number): number {
  const byte = json.byte(at);
  const next = json.byte(at + 1);
  if (byte === BACKSLASH) return next === SMALL_U ? hexAt(json, at + 2) : 0;
  if (byte < 0x80) return byte;
  if (byte === 0xc5 && next === 0xbf) return LONG_S;
  return byte === 0xe2 && next === 0x84 && json.byte(at + 2) === 0xaa ? KELVIN : 0;
}

function hexAt(json: JsonBytes, start: number): number {
  let value = 0;
  for (let at = start; at < start + 4; at++) {
    const byte = json.byte(at);
    value = 16 * value + (isDigit(byte) ? byte - 0x30 : (byte | 0x20) - 0x61 + 10);
  }
  return value;
}

/** 0: a character that no name has in either case. */
function lowerCase(code: number): number {
  if (code === LONG_S) return 0x73;
  if (code === KELVIN) return 0x6b;
  if (code >= 0x80) return 0;
  return code >= 0x41 && code <= 0x5a ? code + 0x20 : code;
}
