import { createHash } from 'node:crypto';
import { type CallFragment, fragmentOf } from '../call-fragment.js';
import { sourceOf, withMember, withoutMember, type JsonPath } from '../json-splice.js';
import { isObject, isText, type JsonObject } from '../json-value.js';
import { type ToldCall, ToldCalls } from '../told-calls.js';

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

/** A call under way. */
interface Call extends ToldCall {
  /** What the client sees. */
  readonly index: number;
}

/** The tool calls of one choice of a stream: told apart, numbered 0, 1, 2, … and complete in their first fragment. */
export class StreamedCalls {
  private readonly told = new ToldCalls<Call>();

  constructor(
    private readonly ids: CallIds,
    private readonly choice: number,
  ) {}

  /** `json` with the fragment at `path` repaired; the same text where it needs none. */
  repair(json: string, path: JsonPath, fragment: JsonObject): string {
    const said = fragmentOf(fragment, () => JSON.stringify(fragment));
    const known = this.told.continued(said);
    const call = known ?? this.begin(said);
    const isNamed = call.name !== undefined;
    call.engineId ??= said.id;
    call.name ??= said.name;
    call.input += said.arguments;
    const numbered = fragment['index'] === call.index ? json : withMember(json, [...path, 'index'], String(call.index));
    return known === undefined
      ? completed(numbered, path, fragment, this.ids.at(this.choice, call.index), '""')
      : continuation(numbered, path, fragment, isNamed);
  }

  private begin({ index }: CallFragment): Call {
    const said = { engineIndex: index, engineId: undefined, name: undefined, input: '' };
    const call = { ...said, index: this.told.all.length };
    this.told.add(call);
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

/** Some clients append what comes twice, so an id, which all calls have from the first, or a repeated name is taken out. */
function continuation(json: string, path: JsonPath, fragment: JsonObject, isNamed: boolean): string {
  let out = withStringArguments(json, path, fragment);
  const fn = fragment['function'];
  if (isObject(fn) && fn['arguments'] === null) out = withMember(out, [...path, 'function', 'arguments'], '""');
  if (isObject(fn) && 'name' in fn && (isNamed || !isText(fn['name'])))
    out = withoutMember(out, [...path, 'function', 'name']);
  return 'id' in fragment ? withoutMember(out, [...path, 'id']) : out;
}

/** Arguments that are an object become the text of that object, digit for digit. */
function withStringArguments(json: string, path: JsonPath, call: JsonObject): string {
  const fn = call['function'];
  if (!isObject(fn) || (fn['arguments'] ?? null) === null || typeof fn['arguments'] === 'string') return json;
  const place = [...path, 'function', 'arguments'];
  return withMember(json, place, JSON.stringify(sourceOf(json, place) ?? '{}'));
}
