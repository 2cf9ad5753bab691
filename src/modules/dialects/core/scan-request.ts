import { isUtf8 } from 'node:buffer';
import type { CanonicalRequest, Operation } from '../../../common/canonical/canonical-request.js';
import { invalidBody, invalidField } from './body-problems.js';
import { JsonBytes } from './json-bytes.js';
import { numberAt } from './json-number.js';
import { eachElement, type Member } from './json-walk.js';
import type { MemberName } from './member-names.js';
import type { PromptSize } from './prompt-size.js';
import { MemberReader, onlyMember, type RequestMembers } from './request-members.js';
import type { MessagePlaces } from './scan-messages.js';

/** A body that is JSON to the last byte, and where its known members stand. The body itself stays bytes. */
export interface ScannedBody {
  readonly json: JsonBytes;
  /** Index of the brace that opens the body. */
  readonly open: number;
  /** The body has no member at all. */
  readonly empty: boolean;
  /** Where a member stands; undefined: it is absent. */
  member(name: MemberName): Member | undefined;
  /** A member that readers who ignore case take for `model`, though it is not spelled so. */
  readonly miscasedModel: Member | undefined;
}

/** The few members of a request that routing, admission and the repairs need. */
export interface ScannedRequest extends ScannedBody {
  /** What the repairs look at. */
  readonly messagePlaces: MessagePlaces;
  readonly stream: boolean;
  /** `stream_options.include_usage` is true. */
  readonly includeUsage: boolean;
  /** Tokens. */
  readonly maxTokens: number | undefined;
  /** Tokens. Counts before `maxTokens` where both are there, as in the engines. */
  readonly maxCompletionTokens: number | undefined;
  readonly n: number | undefined;
  readonly bestOf: number | undefined;
  /** How many prompts `prompt` holds: more than 1 for a list of texts or of token lists. */
  readonly promptCount: number;
  /** `tools` is there and holds nothing. */
  readonly toolsEmpty: boolean;
  /** How the vectors of an answer are written; undefined: not said. */
  readonly encodingFormat: string | undefined;
}

const NO_COUNT = 'has to be a whole number of at least 0, or null';
const COMMA = 0x2c;
const CLOSE_BRACE = 0x7d;
const MAX_FORMAT_BYTES = 64;
const USUAL_NAME_BYTES = 256;
const HAS_BOM = 'begins with a byte order mark, which JSON does not allow';
const HAS_WIDE_UNITS = 'is not UTF-8 but looks like UTF-16 or UTF-32';
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** Checks the whole body as JSON and reads what the gateway needs of it. Throws `invalid-body` or `invalid-request`. */
export function scanRequest(body: Uint8Array): ScannedRequest {
  const { json, members, open } = readMembers(body);
  return new FieldReader(json, members, open).read();
}

/** The same check of a body in a dialect whose other members have types of their own. */
export function scanBody(body: Uint8Array): ScannedBody {
  const { json, members, open } = readMembers(body);
  return scannedBody(json, members, open);
}

/**
 * The name in the member `model`, found without a look at what stands behind it; undefined: there is none, or it is
 * longer than names are. Throws `invalid-body` for what stands before it.
 */
export function leadingModel(body: Uint8Array): string | undefined {
  refuseOtherEncodings(body);
  const json = new JsonBytes(body);
  const open = json.skipSpace(0);
  if (!json.isObject(open)) return undefined;
  // Not by `eachMember`: with this visitor and a way to stop it, relaying a request cost a quarter more in most starts.
  for (let at = json.skipSpace(open + 1); json.byte(at) !== CLOSE_BRACE; at = json.skipSpace(at + 1)) {
    const keyEnd = json.endOfKey(at);
    const start = json.startOfValue(keyEnd);
    const end = json.endOfValue(start, 1);
    if (json.says(at, keyEnd, 'model'))
      return json.isString(start) && end - start <= USUAL_NAME_BYTES ? json.text(start, end) : undefined;
    at = json.skipSpace(end);
    if (json.byte(at) !== COMMA) return undefined;
  }
  return undefined;
}

function readMembers(body: Uint8Array): { json: JsonBytes; members: MemberReader; open: number } {
  refuseOtherEncodings(body);
  const json = new JsonBytes(body);
  const open = json.skipSpace(0);
  if (!json.isObject(open)) throw invalidBody(`has to be a JSON object: at byte ${open} "{" was expected`);
  const members = new MemberReader(json);
  const end = json.skipSpace(members.read(open));
  if (end !== body.length) throw invalidBody(`is not valid JSON: at byte ${end} the end of the body was expected`);
  members.refuseMiscased();
  return { json, members, open };
}

function scannedBody(json: JsonBytes, { found, miscasedModel }: RequestMembers, open: number): ScannedBody {
  const empty = json.byte(json.skipSpace(open + 1)) === 0x7d;
  return { json, open, empty, member: (name) => found.get(name), miscasedModel };
}

/** What the pool and the budget are told. `model` is the id that was looked up. */
export function canonicalFrom(
  scan: ScannedRequest,
  operation: Operation,
  model: string,
  size: PromptSize,
): CanonicalRequest {
  const generates = operation === 'chat' || operation === 'completions';
  const asked = operation === 'chat' ? (scan.maxCompletionTokens ?? scan.maxTokens) : scan.maxTokens;
  const prompts = operation === 'completions' ? scan.promptCount : 1;
  return {
    operation,
    model,
    stream: generates && scan.stream,
    maxOutputTokens: generates ? asked : undefined,
    choices: generates ? prompts * Math.max(1, scan.n ?? 1, scan.bestOf ?? 1) : 1,
    promptBytes: size.textBytes,
    images: size.images,
  };
}

function refuseOtherEncodings(body: Uint8Array): void {
  if (body.length === 0) throw invalidBody('is empty; a JSON object was expected');
  if (BOM.every((byte, index) => body[index] === byte)) throw invalidBody(HAS_BOM);
  // An ASCII character is where JSON begins; in UTF-16 and UTF-32 a zero byte stands beside it, or their own mark.
  if (body[0] === 0 || body[1] === 0 || (body[0] ?? 0) >= 0xfe) throw invalidBody(HAS_WIDE_UNITS);
  if (!isUtf8(body)) throw invalidBody('is not valid UTF-8');
}

/** Reads the values of the members that were found, each with its type checked. */
class FieldReader {
  constructor(
    private readonly json: JsonBytes,
    private readonly members: RequestMembers,
    private readonly open: number,
  ) {}

  read(): ScannedRequest {
    return {
      ...scannedBody(this.json, this.members, this.open),
      messagePlaces: this.members.messagePlaces,
      stream: this.boolean('stream', this.valueOf('stream')),
      includeUsage: this.includeUsage(),
      maxTokens: this.count('max_tokens'),
      maxCompletionTokens: this.count('max_completion_tokens'),
      n: this.count('n'),
      bestOf: this.count('best_of'),
      promptCount: this.promptCount(),
      toolsEmpty: this.isEmptyArray(this.valueOf('tools')),
      encodingFormat: this.encodingFormat(),
    };
  }

  /** The member's place, unless it is absent or null, which mean the same. */
  private valueOf(name: MemberName): Member | undefined {
    return this.unlessNull(this.members.found.get(name));
  }

  private unlessNull(member: Member | undefined): Member | undefined {
    return member === undefined || this.json.isNull(member.valueStart) ? undefined : member;
  }

  private boolean(path: string, member: Member | undefined): boolean {
    if (member === undefined) return false;
    const first = this.json.byte(member.valueStart);
    if (first !== 0x74 && first !== 0x66) throw invalidField(path, 'has to be true, false or null');
    return first === 0x74;
  }

  private count(name: MemberName): number | undefined {
    const member = this.valueOf(name);
    if (member === undefined) return undefined;
    const value = numberAt(this.json, member.valueStart, member.valueEnd);
    if (!Number.isSafeInteger(value) || value < 0) throw invalidField(name, NO_COUNT);
    return value;
  }

  private includeUsage(): boolean {
    const options = this.valueOf('stream_options');
    if (options === undefined) return false;
    if (!this.json.isObject(options.valueStart)) throw invalidField('stream_options', 'has to be an object or null');
    const path = 'stream_options.include_usage';
    return this.boolean(path, this.unlessNull(onlyMember(this.json, options.valueStart, 'include_usage', path)));
  }

  private promptCount(): number {
    const prompt = this.valueOf('prompt');
    if (prompt === undefined || !this.json.isArray(prompt.valueStart)) return 1;
    const first = this.json.skipSpace(prompt.valueStart + 1);
    if (this.json.isArray(first)) return this.bracketsIn(first, prompt.valueEnd);
    // A list of numbers is one prompt, written as tokens.
    if (!this.json.isString(first)) return 1;
    let count = 0;
    eachElement(this.json, prompt.valueStart, (element) => {
      count++;
      return this.json.endOfValue(element, 0);
    });
    return count;
  }

  /** Token lists hold numbers alone, so that each has one bracket. What else stands there, no engine takes. */
  private bracketsIn(start: number, end: number): number {
    const { bytes } = this.json;
    let count = 0;
    for (let at = start; at < end; at++) {
      if (bytes[at] === 0x5b) count++;
    }
    return count;
  }

  private isEmptyArray(member: Member | undefined): boolean {
    return (
      member !== undefined &&
      this.json.isArray(member.valueStart) &&
      this.json.skipSpace(member.valueStart + 1) === member.valueEnd - 1
    );
  }

  private encodingFormat(): string | undefined {
    const member = this.valueOf('encoding_format');
    if (member === undefined) return undefined;
    const { valueStart, valueEnd } = member;
    if (!this.json.isString(valueStart)) throw invalidField('encoding_format', 'has to be a string or null');
    return valueEnd - valueStart > MAX_FORMAT_BYTES ? undefined : this.json.text(valueStart, valueEnd);
  }
}
