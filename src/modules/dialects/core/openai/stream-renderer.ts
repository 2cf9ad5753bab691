import type { Usage } from '../../../../common/canonical/usage.js';
import { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import { eventBytes, eventFields, type EventSink, EventSplitter } from '../../../../common/sse.js';
import { DeliveredEvents } from '../delivered-tokens.js';
import { parsedJson } from '../json-value.js';
import { errorEvent, problemEvent } from '../openai-problem.js';
import { PlainEvents } from './plain-events.js';
import { DONE_EVENT, StreamRepair, type StreamTerms } from './stream-repair.js';
import { statusIn } from '../engine-error.js';
import { engineFailureOf } from '../openai-engine-error.js';

export interface StreamRendererTerms extends StreamTerms {
  readonly model: string;
  /** Unix time: the `created` of a chunk of our own that precedes the engine's first. */
  readonly createdSeconds: number;
}

const NOTHING = Buffer.alloc(0);
const COMMENT = Buffer.from(': keep-alive\n\n');
/** What is held of an unfinished event. A larger one passes unrepaired. */
const HELD_LIMIT_BYTES = 256 * 1024;
const LF = 0x0a;
const BLANK_LINE = '\n\n';

/** A stream on its way to the client. What an engine got right passes as the same bytes, and most of it unread. */
export class StreamRenderer implements EventSink {
  private readonly repair: StreamRepair;
  private readonly splitter = new EventSplitter(this, HELD_LIMIT_BYTES);
  private out: Buffer[] = [];
  /** Something that goes out is not what came in. */
  private changed = false;
  private lastPassed = true;
  /** Nothing follows: the end, or an error, has been handed out. */
  private closed = false;
  private readonly delivered = new DeliveredEvents();
  private readonly plain = new PlainEvents();
  failed = false;

  constructor(private readonly terms: StreamRendererTerms) {
    this.repair = new StreamRepair(terms);
  }

  get usage(): Usage | undefined {
    return this.repair.usage;
  }

  get contentSeen(): boolean {
    return this.repair.contentSeen;
  }

  get deliveredTokens(): number {
    return this.delivered.tokens;
  }

  push(bytes: Uint8Array): Uint8Array {
    const chunk = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (!this.closed && this.repair.settled && this.splitter.onBoundary && this.plain.isOne(chunk)) {
      this.lastPassed = true;
      this.delivered.event(bytes.length, true);
      return bytes;
    }
    const wasOnBoundary = this.splitter.onBoundary;
    this.splitter.push(chunk);
    const isSame = wasOnBoundary && this.splitter.onBoundary && !this.changed;
    const out = this.taken();
    return isSame ? bytes : out;
  }

  /** What is left to send once the engine has ended its body; a problem where the answer is cut. */
  end(): Uint8Array | GatewayProblem {
    if (this.closed) return NOTHING;
    const rest = this.splitter.takeRest();
    // A last event counts without its blank line, but not every client reads it so: the line is put there.
    if (isWholeEvent(rest)) this.event(Buffer.concat([rest, Buffer.from(rest.at(-1) === LF ? '\n' : BLANK_LINE)]));
    if (this.repair.finished && !this.closed && !this.splitter.midEvent) this.close(DONE_EVENT);
    const out = this.taken();
    if (this.closed) return out;
    return new GatewayProblem('upstream-failed', {
      detail: 'The engine broke off in the middle of its answer (server_error).',
      cause: new Error('the stream ended without [DONE], and not every choice had its finish_reason'),
    });
  }

  /** The event that ends a failed stream; what one that had all its finish_reasons still lacks, since it is complete. */
  failure(problem: GatewayProblem): Uint8Array | undefined {
    if (this.closed) return NOTHING;
    if (this.splitter.midEvent) return undefined;
    this.closed = true;
    if (this.repair.finished) return DONE_EVENT;
    this.failed = true;
    return problemEvent(problem);
  }

  /** What is held is not with the client, so only an event that has gone out in part is in the way. */
  heartbeat(asEvent: boolean): Uint8Array | undefined {
    if (this.closed || this.splitter.midEvent) return undefined;
    return asEvent && this.repair.finishedChoices === 0 ? this.emptyChunk() : COMMENT;
  }

  event(bytes: Buffer): void {
    if (this.closed) return this.drop();
    const out = this.repair.event(bytes);
    if (this.repair.error !== undefined) return this.fail();
    if (this.repair.done) this.closed = true;
    else if (out.length > 0) this.delivered.event(bytes.length, this.repair.contentSeen);
    this.lastPassed = out === bytes;
    this.changed ||= !this.lastPassed;
    if (out.length > 0) this.out.push(out);
  }

  part(bytes: Buffer): void {
    if (this.closed) return this.drop();
    this.repair.contentSeen = true;
    this.lastPassed = true;
    this.changed = true;
    this.out.push(bytes);
  }

  lineFeed(): void {
    if (!this.lastPassed) this.changed = true;
    else this.out.push(Buffer.from('\n'));
  }

  private fail(): void {
    const { error } = this.repair;
    if (error === undefined) return;
    this.failed = true;
    this.close(errorEvent(engineFailureOf(error, statusIn(error)).error));
  }

  private close(last: Buffer): void {
    this.closed = true;
    this.changed = true;
    this.lastPassed = false;
    this.out.push(last);
  }

  private drop(): void {
    this.changed = true;
    this.lastPassed = false;
  }

  private taken(): Buffer {
    const [first] = this.out;
    const bytes = this.out.length === 1 && first !== undefined ? first : Buffer.concat(this.out);
    this.out = [];
    this.changed = false;
    return bytes;
  }

  /** A chunk that says nothing, under the id of the stream. The first one of all gives the role, as a first one must. */
  private emptyChunk(): Buffer {
    const { model, createdSeconds, seed, chat } = this.terms;
    const identity = this.repair.identity ?? { id: `chatcmpl-${seed}`, created: createdSeconds, model };
    const needsRole = this.repair.promise(identity);
    const delta = needsRole ? { role: 'assistant', content: '' } : {};
    const choice = chat
      ? { index: 0, delta, logprobs: null, finish_reason: null }
      : { index: 0, text: '', logprobs: null, finish_reason: null };
    const { id, created } = identity;
    const object = chat ? 'chat.completion.chunk' : 'text_completion';
    return eventBytes(JSON.stringify({ id, object, created, model: identity.model, choices: [choice] }));
  }
}

/** Whether the unfinished event lacks no more than its blank line. */
function isWholeEvent(rest: Buffer): boolean {
  const data = eventFields(rest).data?.trim();
  return data !== undefined && (data === '[DONE]' || parsedJson(data) !== undefined);
}
