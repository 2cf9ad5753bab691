import { beginsObject, type CallFragment, isJsonObject } from './call-fragment.js';

/** A call, as far as the engine has told it. */
export interface ToldCall {
  readonly engineIndex: number | undefined;
  /** undefined: the engine has given none so far. */
  engineId: string | undefined;
  name: string | undefined;
  input: string;
}

/** The tool calls of an answer, told apart by what engines say of them in each fragment: an index, an id, a name. */
export class ToldCalls<Call extends ToldCall> {
  readonly all: Call[] = [];
  /** The call that a fragment with the engine's own index goes on with. */
  private readonly byIndex = new Map<number, Call>();

  add(call: Call): void {
    this.all.push(call);
    if (call.engineIndex !== undefined) this.byIndex.set(call.engineIndex, call);
  }

  /** The call that the fragment goes on with; undefined: it begins one. */
  continued(fragment: CallFragment): Call | undefined {
    if (fragment.whole) return undefined;
    const { index, id } = fragment;
    const here = index === undefined ? this.all.at(-1) : this.byIndex.get(index);
    const call = id === undefined ? here : this.withId(id, fragment, here);
    return call === undefined || isAnother(fragment, call) ? undefined : call;
  }

  /** Another index is another call, and so is another id: engines repeat either. */
  private withId(id: string, { index, name }: CallFragment, here: Call | undefined): Call | undefined {
    const same = this.all.findLast(({ engineId, engineIndex: own }) => {
      return engineId === id && (index === undefined || own === undefined || own === index);
    });
    if (same !== undefined) return same;
    // An id that comes late, and without another name, is that of the call already open.
    const isOpen = here !== undefined && here.engineId === undefined;
    if (isOpen && (name === undefined || here.name === undefined)) return here;
    // Nothing begins without a name: it is the index that is wrong.
    return name === undefined ? this.all.findLast(({ engineId }) => engineId === id) : undefined;
  }
}

export const isComplete = ({ input }: ToldCall): boolean => input.trimEnd().endsWith('}') && isJsonObject(input);

/** A call is not named anew: another name is another call, and so is the same one behind complete arguments. */
function isAnother({ id, name, arguments: more }: CallFragment, call: ToldCall): boolean {
  if (name === undefined || call.name === undefined) return false;
  if (name !== call.name) return id === undefined || isComplete(call);
  return id === undefined && beginsObject(more) && isComplete(call);
}
