import { type CallFragment, isJsonObject } from '../call-fragment.js';
import { type CallSink, StreamedCalls } from '../streamed-calls.js';
import { WordsBesideCalls } from '../words-beside-calls.js';
import type { NumberedEvents } from './numbered-events.js';
import { CallItem, type ItemStatus, type OutputItem, SpeechItem } from './output-items.js';
import type { PartKind } from './output-part.js';

/** The items of one answer: numbered, and never two of them open. */
export class Output implements CallSink {
  private readonly finished: string[] = [];
  private speech: SpeechItem | undefined;
  private calling: CallItem | undefined;
  private readonly calls: StreamedCalls;
  private readonly words: WordsBesideCalls<PartKind>;

  /** `seed` tells this answer's ids from those of all others. */
  constructor(
    private readonly events: NumberedEvents,
    private readonly seed: string,
  ) {
    const idOf = (position: number): string => `call_${seed}_${position}`;
    this.calls = new StreamedCalls(this, { idOf, objectsOnly: false });
    this.words = new WordsBesideCalls(this.calls, (kind, text) => this.tell(kind, text));
  }

  /** Why the engine's tool calls are of no use; undefined: they are. */
  get fault(): string | undefined {
    return this.calls.fault;
  }

  say(kind: PartKind, text: string): void {
    this.words.say(kind, text, this.speech?.kind === kind.item);
  }

  call(fragment: CallFragment): void {
    this.words.call(fragment);
  }

  /** Nothing follows. `cut`: the engine had more to say. */
  close(cut: boolean): void {
    this.calls.flush(cut);
    if (this.fault !== undefined) return;
    this.words.tellWaiting();
    this.closeSpeech(cut ? 'incomplete' : 'completed');
  }

  /** All items in JSON; one under way as far as it has come. */
  json(): string {
    const open: OutputItem | undefined = this.speech ?? this.calling;
    return [...this.finished, ...(open === undefined ? [] : [open.json('incomplete')])].join(',');
  }

  openCall(id: string, name: string): void {
    this.closeSpeech('completed');
    this.calling = new CallItem(this.events, { id, name }, this.idOf('fc'), this.finished.length);
  }

  callInput(json: string): void {
    this.calling?.append(json);
  }

  closeCall(input: string, cut: boolean): void {
    const { calling } = this;
    if (calling === undefined) return;
    this.calling = undefined;
    this.finish(calling, cut && !isJsonObject(input) ? 'incomplete' : 'completed');
  }

  private tell(kind: PartKind, text: string): void {
    const speech = this.speech?.kind === kind.item ? this.speech : this.openSpeech(kind.item);
    speech.say(kind, text);
  }

  private openSpeech(kind: PartKind['item']): SpeechItem {
    this.closeSpeech('completed');
    const id = this.idOf(kind === 'message' ? 'msg' : 'rs');
    this.speech = new SpeechItem(this.events, kind, id, this.finished.length);
    return this.speech;
  }

  private closeSpeech(status: ItemStatus): void {
    const { speech } = this;
    this.speech = undefined;
    if (speech !== undefined) this.finish(speech, status);
  }

  private finish(item: OutputItem, status: ItemStatus): void {
    item.close(status);
    this.finished.push(item.json(status));
  }

  private idOf(prefix: string): string {
    return `${prefix}_${this.seed}_${this.finished.length}`;
  }
}
