import { type Usage, usageFromOpenAi } from '../../../../common/canonical/usage.js';
import { endOfValue } from '../json-splice.js';

/** No `usage` object of an engine comes near this. */
const LONGEST_USAGE_BYTES = 4096;
/** What of a body that is passed on unheld is kept to look for the usage at its end. */
const TAIL_BYTES = 4096;
const OPENING = /^"usage"\s*:\s*(?=\{)/;

/** Finds the usage in a whole answer without building its tree: the last member of that name that is an object. */
export function usageInBody(body: Buffer | string): Usage | undefined {
  // A quote inside a JSON string is escaped, so nothing that a model wrote can look like this member.
  for (let at = body.lastIndexOf('"usage"'); at !== -1; at = at === 0 ? -1 : body.lastIndexOf('"usage"', at - 1)) {
    const end = at + LONGEST_USAGE_BYTES;
    // What is read of it are numbers: how its other characters were decoded makes no difference.
    const text = typeof body === 'string' ? body.slice(at, end) : body.toString('latin1', at, end);
    const opening = OPENING.exec(text);
    if (opening !== null) return usageFromSource(text.slice(opening[0].length, endOfValue(text, opening[0].length)));
  }
  return undefined;
}

/** Keeps the end of a body that goes by. */
export class TailTap {
  private tail: Buffer = Buffer.alloc(0);

  push(chunk: Uint8Array): void {
    const joined = chunk.length >= TAIL_BYTES ? chunk : Buffer.concat([this.tail, chunk]);
    this.tail = Buffer.from(joined.subarray(-TAIL_BYTES));
  }

  get usage(): Usage | undefined {
    return usageInBody(this.tail);
  }
}

function usageFromSource(source: string): Usage | undefined {
  try {
    return usageFromOpenAi(JSON.parse(source));
  } catch {
    return undefined;
  }
}
