import { invalidBody, invalidField } from './body-problems.js';
import type { JsonBytes, Member } from './json-bytes.js';

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

const NAMES = new Map<string, MemberName>(MEMBER_NAMES.map((name) => [name, name]));
const LONGEST_NAME = Math.max(...MEMBER_NAMES.map((name) => name.length));
/** Index: length. */
const NAMES_BY_LENGTH = Array.from({ length: LONGEST_NAME + 1 }, (_, length) =>
  MEMBER_NAMES.filter((name) => name.length === length),
);
/** Bytes of the longest name with every letter written as an escape, quotes included: no longer key can be one. */
const LONGEST_KEY_BYTES = 6 * LONGEST_NAME + 2;

/** As readers fold that ignore case: the long s counts as an s there, the Kelvin sign becomes a k by itself. */
const fold = (key: string): string => key.toLowerCase().replaceAll('ſ', 's');

/** Capitals, escapes and what is not ASCII: a key without them is what its bytes say, in any reader's eyes. */
const isPlainByte = (byte: number): boolean => byte < 0x80 && byte !== 0x5c && (byte < 0x41 || byte > 0x5a);

/** The members found. `miscased` holds what only a reader that ignores case would take for one. */
export interface RequestMembers {
  readonly found: ReadonlyMap<MemberName, Member>;
  readonly miscasedModel: Member | undefined;
}

/** Reads the whole top level, and with it the whole body up to the object's end, which it returns. */
export class MemberReader implements RequestMembers {
  readonly found = new Map<MemberName, Member>();
  private readonly miscased = new Map<MemberName, Member>();

  constructor(private readonly json: JsonBytes) {}

  get miscasedModel(): Member | undefined {
    return this.miscased.get('model');
  }

  read(open: number): number {
    const end = this.json.eachMember(open, (member) => this.take(member), 1);
    for (const name of this.miscased.keys()) {
      if (name !== 'model') throw invalidField(name, 'has to be written in lower case, since some engines ignore the case');
    }
    return end;
  }

  private take(member: Member): void {
    if (member.keyEnd - member.keyStart > LONGEST_KEY_BYTES) return;
    if (!this.isPlain(member)) return this.takeDecoded(member);
    for (const name of NAMES_BY_LENGTH[member.keyEnd - member.keyStart - 2] ?? []) {
      if (this.json.says(member.keyStart, member.keyEnd, name)) return this.put(this.found, name, member);
    }
  }

  private takeDecoded(member: Member): void {
    const key = this.json.text(member.keyStart, member.keyEnd);
    const exact = NAMES.get(key);
    const name = exact ?? NAMES.get(fold(key));
    if (name !== undefined) this.put(exact === undefined ? this.miscased : this.found, name, member);
  }

  private put(members: Map<MemberName, Member>, name: MemberName, member: Member): void {
    if (this.found.has(name) || this.miscased.has(name)) throw twice(name, member.keyStart);
    members.set(name, member);
  }

  private isPlain({ keyStart, keyEnd }: Member): boolean {
    for (let at = keyStart + 1; at < keyEnd - 1; at++) {
      if (!isPlainByte(this.json.byte(at))) return false;
    }
    return true;
  }
}

/** The member `name` of the object that opens at `open`, called `path` in messages; refused where it stands twice. */
export function onlyMember(json: JsonBytes, open: number, name: string, path: string): Member | undefined {
  let found: Member | undefined;
  json.eachMember(open, (member) => {
    if (!json.says(member.keyStart, member.keyEnd, name)) return;
    if (found !== undefined) throw twice(path, member.keyStart);
    found = member;
  });
  return found;
}

const twice = (path: string, at: number): Error =>
  invalidBody(`has the member "${path}" twice, case ignored, the second time at byte ${at}; it may stand once`);
