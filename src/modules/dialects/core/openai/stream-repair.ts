import { type Usage, usageFromOpenAi } from '../../../../common/canonical/usage.js';
import { eventBytes, eventFields } from '../../../../common/sse.js';
import type { ResponseQuirks } from '../quirks.js';
import { type EngineError, engineErrorIn, namedError } from '../engine-error.js';
import { withMember, withoutMember } from '../json-splice.js';
import { isObject, isText, type JsonObject, parsedJson } from '../json-value.js';
import { isPlainEvent } from './plain-events.js';
import { CallIds, MAX_MENDED_CALLS, StreamedCalls } from './tool-calls.js';

/** What has been asked of the stream, and of whom. */
export interface StreamTerms {
  /** Deltas of chat, or the texts of completions. */
  readonly chat: boolean;
  /** How many choices there will be. */
  readonly choices: number;
  readonly quirks: ResponseQuirks;
  /** The client asked for usage. */
  readonly usageWanted: boolean;
  /** The gateway asked for usage, for itself. */
  readonly usageAdded: boolean;
  /** Tells this answer from all others. */
  readonly seed: string;
}

/** What all chunks of the stream say of themselves, as far as one has been seen. */
export interface StreamIdentity {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

interface Choice {
  roleSent: boolean;
  /** Its finish_reason has been handed on. */
  finished: boolean;
  readonly calls: StreamedCalls;
}

const DROPPED = Buffer.alloc(0);
export const DONE_EVENT = eventBytes('[DONE]');
const DONE_AS_IT_SHOULD_BE = /^data: \[DONE\][\r\n]/;

/** Reads a stream event by event, keeps account of it, and mends what this engine is known to get wrong. */
export class StreamRepair {
  usage: Usage | undefined;
  contentSeen = false;
  /** `[DONE]` has been handed on. */
  done = false;
  /** How many choices have had their finish_reason. */
  finishedChoices = 0;
  /** What the engine ended the stream with, where that is an error. */
  error: EngineError | undefined;
  identity: StreamIdentity | undefined;
  /** Nothing is left to look for that only a stream's beginning has: plain events may pass unread. */
  settled = false;
  /** An id that has been given out before the engine's own was known. */
  private promisedId: string | undefined;
  private readonly choices = new Map<number, Choice>();
  private readonly ids: CallIds;

  constructor(private readonly terms: StreamTerms) {
    this.ids = new CallIds(terms.seed);
  }

  get over(): boolean {
    return this.done || this.error !== undefined;
  }

  /** Every choice that was asked for has had its finish_reason. */
  get finished(): boolean {
    return this.finishedChoices >= Math.max(1, this.terms.choices);
  }

  /** What stands for this event: the same bytes, others, or none. An error leaves none: see `error`. */
  event(bytes: Buffer): Buffer {
    if (this.settled && isPlainEvent(bytes.toString('latin1'))) return bytes;
    const { event, data } = eventFields(bytes);
    // A frame with a name and no data, or with empty data, breaks official clients; a comment does not.
    if (data === undefined) return event === undefined ? bytes : DROPPED;
    const text = data.trim();
    if (text === '[DONE]') return this.end(bytes);
    if (text === '') return DROPPED;
    const chunk = parsedJson(text);
    this.error = event === 'error' ? namedError(chunk, text) : engineErrorIn(chunk);
    if (this.error !== undefined) return DROPPED;
    return isObject(chunk) ? this.chunk(bytes, text, chunk) : bytes;
  }

  /** A chunk of our own has gone out under this id. Returns whether it had to carry the role. */
  promise(identity: StreamIdentity): boolean {
    if (this.identity === undefined) this.promisedId = identity.id;
    this.identity = identity;
    const choice = this.choiceAt(0);
    const needsRole = !choice.roleSent;
    choice.roleSent = true;
    return needsRole;
  }

  private end(bytes: Buffer): Buffer {
    this.done = true;
    return DONE_AS_IT_SHOULD_BE.test(bytes.toString('latin1')) ? bytes : DONE_EVENT;
  }

  private chunk(bytes: Buffer, text: string, chunk: JsonObject): Buffer {
    let out = this.withPromisedId(text, chunk);
    this.usage = usageFromOpenAi(chunk['usage']) ?? this.usage;
    const choices: unknown[] = Array.isArray(chunk['choices']) ? chunk['choices'] : [];
    if (isObject(chunk['usage']) && !this.terms.usageWanted) {
      if (choices.length === 0) return DROPPED;
      if (this.terms.usageAdded) out = withoutMember(out, ['usage']);
    }
    if (!Array.isArray(chunk['choices']) && this.terms.quirks.choices) out = withMember(out, ['choices'], '[]');
    choices.forEach((choice, position) => {
      if (isObject(choice)) out = this.choice(out, position, choice);
    });
    this.settled = this.contentSeen && this.promisedId === undefined && this.rolesAreSent();
    return out === text ? bytes : eventBytes(out);
  }

  private withPromisedId(text: string, chunk: JsonObject): string {
    const { id, created, model } = chunk;
    this.identity ??= {
      id: isText(id) ? id : `chatcmpl-${this.terms.seed}`,
      created: typeof created === 'number' ? created : 0,
      model: isText(model) ? model : '',
    };
    if (this.promisedId === undefined || id === this.promisedId) return text;
    return withMember(text, ['id'], JSON.stringify(this.promisedId));
  }

  private choice(json: string, position: number, choice: JsonObject): string {
    const index = typeof choice['index'] === 'number' ? choice['index'] : 0;
    const state = this.choiceAt(index);
    if (isText(choice['finish_reason'])) this.finish(state);
    if (!this.terms.chat) {
      this.contentSeen ||= isText(choice['text']);
      return json;
    }
    const delta = isObject(choice['delta']) ? choice['delta'] : undefined;
    const calls = delta !== undefined && Array.isArray(delta['tool_calls']) ? delta['tool_calls'] : [];
    this.contentSeen ||= calls.length > 0 || (delta !== undefined && hasText(delta));
    const withCalls = this.withCalls(json, position, state, calls);
    return this.withRole(withCalls, position, state, delta);
  }

  private finish(choice: Choice): void {
    if (!choice.finished) this.finishedChoices += 1;
    choice.finished = true;
  }

  private withCalls(json: string, position: number, state: Choice, calls: readonly unknown[]): string {
    if (!this.terms.quirks.toolCalls || calls.length > MAX_MENDED_CALLS) return json;
    return calls.reduce<string>((out, call, at) => {
      return isObject(call) ? state.calls.repair(out, ['choices', position, 'delta', 'tool_calls', at], call) : out;
    }, json);
  }

  private withRole(json: string, position: number, state: Choice, delta: JsonObject | undefined): string {
    const sent = state.roleSent;
    state.roleSent = true;
    if (sent || !this.terms.quirks.role || isText(delta?.['role'])) return json;
    if (delta === undefined) return withMember(json, ['choices', position, 'delta'], '{"role":"assistant"}');
    return withMember(json, ['choices', position, 'delta', 'role'], '"assistant"');
  }

  private choiceAt(index: number): Choice {
    const known = this.choices.get(index);
    if (known !== undefined) return known;
    const choice = { roleSent: false, finished: false, calls: new StreamedCalls(this.ids, index) };
    this.choices.set(index, choice);
    return choice;
  }

  private rolesAreSent(): boolean {
    return !this.terms.chat || this.choices.size >= this.terms.choices;
  }
}

const hasText = (delta: JsonObject): boolean =>
  isText(delta['content']) ||
  isText(delta['reasoning_content']) ||
  isText(delta['reasoning']) ||
  isText(delta['refusal']);
