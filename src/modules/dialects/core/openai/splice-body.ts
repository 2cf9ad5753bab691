import type { JsonBytes } from '../json-bytes.js';
import type { Member, Span } from '../json-walk.js';

/** Bytes that take the place of those from `start` up to `end`; with both the same, they go in between. */
export interface Edit extends Span {
  readonly bytes: Uint8Array;
}

const NOTHING = new Uint8Array(0);

export const edit = (start: number, end: number, text: string): Edit => ({ start, end, bytes: Buffer.from(text) });

/**
 * The body with all edits done at once; without edits, the body itself. Edits come in any order and may touch, but not
 * overlap; what two of them insert in one place stands in the order given, and before what is replaced from there on.
 */
export function spliceBody(body: Buffer, edits: readonly Edit[]): Buffer {
  if (edits.length === 0) return body;
  const ordered = edits.toSorted((a, b) => a.start - b.start || a.end - b.end);
  const grown = ordered.reduce((sum, { start, end, bytes }) => sum + bytes.length - (end - start), body.length);
  const result = Buffer.allocUnsafe(grown);
  let from = 0;
  let to = 0;
  for (const { start, end, bytes } of ordered) {
    if (start < from) throw new RangeError(`Edits overlap at byte ${start}`);
    to += body.copy(result, to, from, start);
    result.set(bytes, to);
    to += bytes.length;
    from = end;
  }
  body.copy(result, to, from);
  return result;
}

/** Edits that take members of one object out, with the commas that only they needed. */
export function withoutMembers(json: JsonBytes, members: readonly Member[]): Edit[] {
  // Members that stand side by side go out together, since one comma may belong to either.
  const runs: Span[] = [];
  for (const { keyStart, valueEnd } of members.toSorted((a, b) => a.keyStart - b.keyStart)) {
    const before = runs.at(-1);
    const joins = before !== undefined && nextKey(json, before.end) === keyStart;
    if (joins) runs.pop();
    runs.push({ start: joins ? before.start : keyStart, end: valueEnd });
  }
  return runs.map((run) => withoutRun(json, run));
}

function withoutRun(json: JsonBytes, { start, end }: Span): Edit {
  let before = start - 1;
  while (json.isSpace(before)) before--;
  if (json.isComma(before)) return { start: before, end, bytes: NOTHING };
  return { start, end: nextKey(json, end) ?? end, bytes: NOTHING };
}

function nextKey(json: JsonBytes, valueEnd: number): number | undefined {
  const comma = json.skipSpace(valueEnd);
  return json.isComma(comma) ? json.skipSpace(comma + 1) : undefined;
}
