import { type CallFragment, inputTextOf, isJsonObject } from './call-fragment.js';

/** Where the pieces of calls go, one call at a time. */
export interface CallSink {
  openCall(id: string, name: string): void;
  callInput(json: string): void;
  /** `input`: all of its arguments. `cut`: the engine ran out of room in them. */
  closeCall(input: string, cut: boolean): void;
}

/** What a dialect wants of calls. */
export interface CallRules {
  /** An id for a call that came without one: the same for the same place in the same answer, and for no other. */
  idOf(position: number): string;
  /** Arguments must come to a JSON object; otherwise they are the client's to read, whatever they are. */
  readonly objectsOnly: boolean;
}

/** More calls in one answer are no answer of a model, and telling them apart would take its time. */
const MAX_CALLS = 512;

/** A call under way. */
interface Call {
  /** Its place in the answer. */
  readonly position: number;
  id: string | undefined;
  name: string | undefined;
  input: string;
  state: 'waiting' | 'open' | 'closed';
}

/**
 * The tool calls of a stream, told apart and put one behind the other: a call is held back while the one before it may
 * still go on. What is held is sent when that one is complete, or when the answer ends.
 */
export class StreamedCalls {
  /** What the engine sent cannot be made into calls any more: the reason, for the log. */
  fault: string | undefined;
  private readonly calls: Call[] = [];
  /** The call that a fragment with the engine's own index goes on with. */
  private readonly byIndex = new Map<number, Call>();
  private opened: Call | undefined;

  constructor(
    private readonly sink: CallSink,
    private readonly rules: CallRules,
  ) {}

  get any(): boolean {
    return this.calls.length > 0;
  }

  take(fragment: CallFragment): void {
    if (this.calls.length >= MAX_CALLS) {
      this.fault ??= 'there are too many tool calls';
      return;
    }
    const call = this.continued(fragment) ?? this.begin(fragment);
    call.id ??= fragment.id;
    call.name ??= fragment.name;
    if (call.state === 'closed') return this.late(fragment);
    call.input += fragment.arguments;
    if (call.state === 'open') {
      if (fragment.arguments !== '') this.sink.callInput(fragment.arguments);
    } else if (this.opened === undefined || this.isComplete(this.opened)) this.openNext();
  }

  /** No call goes on behind this. `cut`: the engine ran out of room, and arguments may be broken off. */
  flush(cut: boolean): void {
    if (this.opened !== undefined) this.close(this.opened, cut);
    for (const call of this.calls) {
      if (call.state !== 'waiting') continue;
      if (call.name === undefined) this.fault ??= 'a tool call has no name';
      else this.sendWhole(call, cut);
    }
  }

  /** Same index and another id is another call; a fragment without an index belongs to the call before it. */
  private continued({ index, id }: CallFragment): Call | undefined {
    const known = index === undefined ? undefined : this.byIndex.get(index);
    const byId = id === undefined ? undefined : this.calls.find((call) => call.id === id);
    if (byId !== undefined) return byId;
    const call = index === undefined ? this.calls.at(-1) : known;
    if (call === undefined || id === undefined) return call;
    return call.id === undefined && call.state === 'waiting' ? call : undefined;
  }

  private begin({ index }: CallFragment): Call {
    const call: Call = { position: this.calls.length, id: undefined, name: undefined, input: '', state: 'waiting' };
    this.calls.push(call);
    if (index !== undefined) this.byIndex.set(index, call);
    return call;
  }

  /** Opens waiting calls in their order, as far as the ones before them are complete. */
  private openNext(): void {
    for (const call of this.calls) {
      if (call.state !== 'waiting') continue;
      if (call.name === undefined) return;
      if (this.opened !== undefined) {
        if (!this.isComplete(this.opened)) return;
        this.close(this.opened, false);
      }
      this.open(call, call.name);
    }
  }

  private open(call: Call, name: string): void {
    call.state = 'open';
    this.opened = call;
    call.id ??= this.rules.idOf(call.position);
    this.sink.openCall(call.id, name);
    if (call.input !== '') this.sink.callInput(call.input);
  }

  private close(call: Call, cut: boolean): void {
    if (this.rules.objectsOnly && !cut && call.input.trim() !== '' && !isJsonObject(call.input))
      this.fault ??= 'the arguments of a tool call are no JSON object';
    call.state = 'closed';
    this.opened = undefined;
    this.sink.closeCall(call.input, cut);
  }

  /** Nothing of it has been sent, so it can still be mended. */
  private sendWhole(call: Call, cut: boolean): void {
    if (this.rules.objectsOnly && !cut && call.input !== '') call.input = inputTextOf(call.input);
    this.open(call, call.name ?? '');
    this.close(call, cut);
  }

  private isComplete(call: Call): boolean {
    return call.input.trimEnd().endsWith('}') && isJsonObject(call.input);
  }

  /** Some parsers end a call once more, with nothing. */
  private late({ arguments: more }: CallFragment): void {
    if (more.trim() !== '') this.fault ??= 'a tool call goes on behind its end';
  }
}
