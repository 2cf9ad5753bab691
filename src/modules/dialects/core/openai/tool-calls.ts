import { createHash } from 'node:crypto';
import { sourceOf, withMember, withoutMember, type JsonPath } from '../json-splice.js';
import { isObject, isText, type JsonObject } from '../json-value.js';

/** More calls in one piece are no answer of a model, and mending each would take its time. */
export const MAX_MENDED_CALLS = 128;

/** Makes ids for calls that came without one: the same for the same place in the same answer, and for no other. */
export class CallIds {
  /** `seed`: what tells this answer from all others. */
  constructor(private readonly seed: string) {}

  at(choice: number, index: number): string {
    return `call_${createHash('sha256').update(`${this.seed}/${choice}/${index}`).digest('hex').slice(0, 24)}`;
  }
}

/** A call under way. Its `index` is the one that the client sees. */
interface Call {
  readonly index: number;
  /** undefined: the engine gave none, and one was invented. */
  readonly engineId: string | undefined;
  readonly name: string | undefined;
}

/** The tool calls of one choice of a stream: told apart, numbered 0, 1, 2, … and complete in their first fragment. */
export class StreamedCalls {
  private readonly calls: Call[] = [];
  /** The call that a fragment with the engine's own index goes on with. */
  private readonly byEngineIndex = new Map<unknown, Call>();

  constructor(
    private readonly ids: CallIds,
    private readonly choice: number,
  ) {}

  /** `json` with the fragment at `path` repaired; the same text where it needs none. */
  repair(json: string, path: JsonPath, fragment: JsonObject): string {
    const known = this.continued(fragment);
    const call = known ?? this.open(fragment);
    const numbered = fragment['index'] === call.index ? json : withMember(json, [...path, 'index'], String(call.index));
    return known === undefined
      ? completed(numbered, path, fragment, this.ids.at(this.choice, call.index), '""')
      : continuation(numbered, path, fragment);
  }

  /** The call that this fragment belongs to; undefined: it begins one. Same index and another id is another call. */
  private continued(fragment: JsonObject): Call | undefined {
    const { id, index } = fragment;
    const name = nameOf(fragment);
    const byId = isText(id) ? this.calls.find((call) => call.engineId === id) : undefined;
    if (byId !== undefined) return byId;
    const call = Number.isInteger(index) ? this.byEngineIndex.get(index) : this.calls.at(-1);
    if (call === undefined) return undefined;
    // An id that comes late, and without a name, is that of the call already open.
    if (isText(id)) return call.engineId === undefined && name === undefined ? call : undefined;
    return name === undefined || call.name === undefined || name === call.name ? call : undefined;
  }

  private open(fragment: JsonObject): Call {
    const { id, index } = fragment;
    const call = { index: this.calls.length, engineId: isText(id) ? id : undefined, name: nameOf(fragment) };
    this.calls.push(call);
    if (Number.isInteger(index)) this.byEngineIndex.set(index, call);
    return call;
  }
}

/** `json` with a whole call at `path`, or the first fragment of one, given what it lacks. */
export function completed(json: string, path: JsonPath, call: JsonObject, id: string, noArguments: string): string {
  let out = withStringArguments(json, path, call);
  const fn = call['function'];
  if (isObject(fn) && (fn['arguments'] ?? null) === null)
    out = withMember(out, [...path, 'function', 'arguments'], noArguments);
  if (!isText(call['type'])) out = withMember(out, [...path, 'type'], '"function"');
  return isText(call['id']) ? out : withMember(out, [...path, 'id'], JSON.stringify(id));
}

/** Some clients append what comes twice, so a repeated id or name is taken out. */
function continuation(json: string, path: JsonPath, fragment: JsonObject): string {
  let out = withStringArguments(json, path, fragment);
  const fn = fragment['function'];
  if (isObject(fn) && fn['arguments'] === null) out = withMember(out, [...path, 'function', 'arguments'], '""');
  if (isObject(fn) && 'name' in fn) out = withoutMember(out, [...path, 'function', 'name']);
  return 'id' in fragment ? withoutMember(out, [...path, 'id']) : out;
}

/** Arguments that are an object become the text of that object, digit for digit. */
function withStringArguments(json: string, path: JsonPath, call: JsonObject): string {
  const fn = call['function'];
  if (!isObject(fn) || (fn['arguments'] ?? null) === null || typeof fn['arguments'] === 'string') return json;
  const place = [...path, 'function', 'arguments'];
  return withMember(json, place, JSON.stringify(sourceOf(json, place) ?? '{}'));
}

function nameOf(fragment: JsonObject): string | undefined {
  const fn = fragment['function'];
  return isObject(fn) && isText(fn['name']) ? fn['name'] : undefined;
}
