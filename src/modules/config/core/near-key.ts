/** More edits than this are another word, not a slip. */
const MAX_EDITS = 2;

/** The allowed key that an unknown one was most likely meant to be. */
export function nearKey(unknown: string, allowed: readonly string[]): string | undefined {
  const wanted = unknown.toLowerCase();
  const ranked = allowed
    .map((key) => ({ key, edits: editsBetween(wanted, key.toLowerCase()) }))
    .filter(({ key, edits }) => edits <= Math.min(MAX_EDITS, Math.floor(key.length / 2)))
    .sort((left, right) => left.edits - right.edits);
  return ranked[0]?.key;
}

/** Levenshtein's distance, given up as soon as the lengths alone exceed what counts. */
function editsBetween(left: string, right: string): number {
  if (Math.abs(left.length - right.length) > MAX_EDITS) return Infinity;
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [row, letter] of [...left].entries()) {
    const current = [row + 1];
    for (const [column, other] of [...right].entries()) {
      const replaced = (previous[column] ?? 0) + (letter === other ? 0 : 1);
      current.push(Math.min(replaced, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    previous = current;
  }
  return previous.at(-1) ?? Infinity;
}
