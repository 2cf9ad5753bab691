import { beginsObject, type CallFragment, inputTextOf, isJsonObject } from './call-fragment.js';
import { isComplete, type ToldCall, ToldCalls } from './told-calls.js';

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
interface Call extends ToldCall {
  /** Its place in the answer. */
  readonly position: number;
  /** What has come of its input has gone out. */
  sent: boolean;
  /** Its input cannot become an object any more: it is mended when all of it has come. */
  held: boolean;
  /** A call that came whole waits for the end of the answer, which says whether it was cut. */
  readonly whole: boolean;
  state: 'waiting' | 'open' | 'closed';
}

/**
 * The tool calls of a stream, told apart and put one behind the other: a call is held back while the one before it may
 * still go on. What is held is sent when that one is complete, or when the answer ends.
 */
export class StreamedCalls {
  /** What the engine sent cannot be made into calls any more: the reason, for the log. */
  fault: string | undefined;
  private readonly told = new ToldCalls<Call>();
  private readonly ids = new Set<string>();
  private opened: Call | undefined;

  constructor(
    private readonly sink: CallSink,
    private readonly rules: CallRules,
  ) {}

  get any(): boolean {
    return this.told.all.length > 0;
  }

  take(fragment: CallFragment): void {
    if (this.told.all.length >= MAX_CALLS) {
      this.fault ??= 'there are too many tool calls';
      return;
    }
    const call = this.told.continued(fragment) ?? this.begin(fragment);
    call.engineId ??= fragment.id;
    call.name ??= fragment.name;
    if (call.state === 'closed') return this.late(fragment);
    call.input += fragment.arguments;
    if (call.state === 'open') this.send(call, fragment.arguments);
    else if (this.opened === undefined || isComplete(this.opened)) this.openNext();
  }

  /** No call goes on behind this. `cut`: the engine ran out of room, and arguments may be broken off. */
  flush(cut: boolean): void {
    if (this.opened !== undefined) this.close(this.opened, cut);
    for (const call of this.told.all) {
      if (call.state !== 'waiting') continue;
      if (call.name === undefined) this.fault ??= 'a tool call has no name';
      else this.sendWhole(call, call.name, cut);
    }
  }

  /** Ends the calls so far, since something else follows. false: one is still under way, and what follows has to wait. */
  settle(): boolean {
    if (this.told.all.some((call) => call.state !== 'closed' && !isComplete(call))) return false;
    this.flush(false);
    return true;
  }

  private begin({ index, whole }: CallFragment): Call {
    const said = { engineIndex: index, engineId: undefined, name: undefined, input: '' };
    const call: Call = { ...said, position: this.told.all.length, sent: false, held: false, whole, state: 'waiting' };
    this.told.add(call);
    return call;
  }

  /** Opens waiting calls in their order, as far as the ones before them are complete. */
  private openNext(): void {
    for (const call of this.told.all) {
      if (call.state !== 'waiting') continue;
      if (call.name === undefined || call.whole) return;
      if (this.opened !== undefined) {
        if (!isComplete(this.opened)) return;
        this.close(this.opened, false);
      }
      this.open(call, call.name);
      this.send(call, call.input);
    }
  }

  private open(call: Call, name: string): void {
    call.state = 'open';
    this.opened = call;
    this.sink.openCall(this.idFor(call), name);
  }

  /** Clients tell the results of calls apart by their ids, so that no two may have the same. */
  private idFor({ engineId, position }: Call): string {
    const id = engineId === undefined || this.ids.has(engineId) ? this.rules.idOf(position) : engineId;
    this.ids.add(id);
    return id;
  }

  /** `more`: what has come since the last time. */
  private send(call: Call, more: string): void {
    if (more === '' || call.held) return;
    if (call.sent) return this.sink.callInput(more);
    if (this.rules.objectsOnly && !beginsObject(more)) call.held = more.trim() !== '';
    else this.sendAll(call);
  }

  private sendAll(call: Call): void {
    call.sent = true;
    if (call.input !== '') this.sink.callInput(call.input);
  }

  private close(call: Call, cut: boolean): void {
    if (!call.sent) this.mend(call);
    else if (this.rules.objectsOnly && !cut && !isJsonObject(call.input))
      this.fault ??= 'the arguments of a tool call are no JSON object';
    call.state = 'closed';
    this.opened = undefined;
    this.sink.closeCall(call.input, cut);
  }

  /** Nothing of its input has been sent, so it can still be made an object. */
  private mend(call: Call): void {
    if (this.rules.objectsOnly && call.input !== '') call.input = inputTextOf(call.input);
    this.sendAll(call);
  }

  private sendWhole(call: Call, name: string, cut: boolean): void {
    this.open(call, name);
    // Arguments that were cut are the beginning of an object, as which clients take them.
    if (cut && beginsObject(call.input)) this.sendAll(call);
    this.close(call, cut);
  }

  /** Some parsers end a call once more, with nothing. */
  private late({ arguments: more }: CallFragment): void {
    if (more.trim() !== '') this.fault ??= 'a tool call goes on behind its end';
  }
}
