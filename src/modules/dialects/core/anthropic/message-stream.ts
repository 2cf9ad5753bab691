import type { Usage } from '../../../../common/canonical/usage.js';
import type { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import type { ThinkingMode } from '../answer-request.js';
import type { CallFragment } from '../call-fragment.js';
import { type ChunkSink, readChunk } from '../chat-chunk.js';
import { DeliveredTokens } from '../delivered-tokens.js';
import type { EngineError } from '../engine-error.js';
import type { JsonObject } from '../json-value.js';
import { type CallSink, StreamedCalls } from '../streamed-calls.js';
import { WordsBesideCalls } from '../words-beside-calls.js';
import type { AnswerEvents } from '../translated-stream.js';
import { engineFailureOf } from './engine-failure.js';
import { PING_EVENT } from './frames.js';
import { messageUsageOf } from './message-usage.js';
import { errorEvent, problemEvent } from './render-problem.js';
import { stopMembers } from './stop-reason.js';
import { inventedId, type MessageUsage, SIGNATURE } from './wire.js';

/** What the stream has to know of its request. */
export interface StreamTerms {
  readonly id: string;
  /** The name that the client asked for. */
  readonly model: string;
  readonly thinking: ThinkingMode;
  /** Tokens of the prompt, as far as they can be known before the engine has counted them. */
  readonly estimatedInputTokens: number;
}

type Words = 'text' | 'thinking';
type Block = Words | 'none' | 'tool';

const EMPTY_BLOCK: Readonly<Record<Words, string>> = {
  text: '{"type":"text","text":""}',
  thinking: '{"type":"thinking","thinking":"","signature":""}',
};
const WORDS_DELTA: Readonly<Record<Words, string>> = {
  text: ',"delta":{"type":"text_delta","text":',
  thinking: ',"delta":{"type":"thinking_delta","thinking":',
};
const STOP_EVENT = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';
const DELTA = 'event: content_block_delta\ndata: {"type":"content_block_delta","index":';

/**
 * Chunks of chat completions in, events of the dialect out, one after the other and as text: blocks are numbered, and
 * never two of them are open.
 */
export class MessageStream implements AnswerEvents, ChunkSink, CallSink {
  usage: Usage | undefined;
  contentSeen = false;
  /** A finish_reason has come: what may still follow is the usage. */
  finished = false;
  private out = '';
  private started = false;
  private open: Block = 'none';
  private index = -1;
  private refused = false;
  private reason: string | undefined;
  private matched: unknown;
  private readonly delivered = new DeliveredTokens();
  private readonly calls: StreamedCalls;
  private readonly words: WordsBesideCalls<Words>;

  constructor(
    private readonly terms: StreamTerms,
    private readonly requestId: string,
  ) {
    const idOf = (position: number): string => inventedId(terms.id, position);
    this.calls = new StreamedCalls(this, { idOf, objectsOnly: true });
    this.words = new WordsBesideCalls(this.calls, (kind, words) => this.tell(kind, words));
  }

  get deliveredTokens(): number {
    return this.delivered.tokens;
  }

  /** Why the engine's tool calls are of no use; undefined: they are. */
  get fault(): string | undefined {
    return this.calls.fault;
  }

  chunk(chunk: JsonObject, source: string): void {
    this.start();
    readChunk(chunk, source, this);
  }

  /** The events since the last call. */
  take(): string {
    const { out } = this;
    this.out = '';
    return out;
  }

  /** The answer is complete; there may be a fault in it yet. */
  end(): void {
    this.start();
    this.calls.flush(this.reason === 'length');
    if (this.fault !== undefined) return;
    this.words.tellWaiting();
    this.closeBlock();
    const called = this.calls.any;
    const delta = stopMembers({ reason: this.reason, matched: this.matched, refused: this.refused, called });
    this.event('message_delta', { type: 'message_delta', delta, usage: this.lastUsage() });
    this.out += STOP_EVENT;
  }

  engineFailed(error: EngineError, status: number): void {
    this.out += errorEvent(engineFailureOf(error, status).error, this.requestId);
  }

  failed(problem: GatewayProblem): void {
    this.out += problemEvent(problem, this.requestId);
  }

  beat(): void {
    this.out += PING_EVENT;
  }

  counted(usage: Usage | undefined): void {
    this.usage = usage;
  }

  finish(reason: string, choice: JsonObject): void {
    this.finished = true;
    this.reason = reason;
    this.matched = choice['stop_reason'] ?? this.matched;
  }

  refusal(text: string): void {
    this.refused = true;
    this.text(text);
  }

  openCall(id: string, name: string): void {
    this.openBlock('tool', `{"type":"tool_use","id":${JSON.stringify(id)},"name":${JSON.stringify(name)},"input":{}}`);
  }

  callInput(json: string): void {
    this.out += `${DELTA}${this.index},"delta":{"type":"input_json_delta","partial_json":${JSON.stringify(json)}}}\n\n`;
  }

  closeCall(): void {
    this.closeBlock();
  }

  private start(): void {
    if (this.started) return;
    this.started = true;
    const { id, model, estimatedInputTokens } = this.terms;
    const usage = { ...NO_USAGE, input_tokens: estimatedInputTokens };
    const end = { stop_reason: null, stop_sequence: null };
    const message = { id, type: 'message', role: 'assistant', model, content: [], ...end, usage };
    this.event('message_start', { type: 'message_start', message });
  }

  text(text: string): void {
    this.say('text', text);
  }

  thought(text: string): void {
    if (this.terms.thinking !== 'off') this.say('thinking', text);
  }

  call(fragment: CallFragment): void {
    this.piece(fragment.arguments);
    this.words.call(fragment);
  }

  private say(kind: Words, text: string): void {
    this.piece(text);
    this.words.say(kind, text, this.open === kind);
  }

  private tell(kind: Words, text: string): void {
    if (this.open !== kind) this.openBlock(kind, EMPTY_BLOCK[kind]);
    if (kind === 'thinking' && this.terms.thinking === 'omitted') return;
    this.out += `${DELTA}${this.index}${WORDS_DELTA[kind]}${JSON.stringify(text)}}}\n\n`;
  }

  private piece(text: string): void {
    this.contentSeen = true;
    this.delivered.piece(Buffer.byteLength(text));
  }

  private openBlock(kind: Block, block: string): void {
    this.closeBlock();
    this.open = kind;
    this.index += 1;
    const head = 'event: content_block_start\ndata: {"type":"content_block_start","index":';
    this.out += `${head}${this.index},"content_block":${block}}\n\n`;
  }

  private closeBlock(): void {
    if (this.open === 'none') return;
    if (this.open === 'thinking')
      this.out += `${DELTA}${this.index},"delta":{"type":"signature_delta","signature":"${SIGNATURE}"}}\n\n`;
    this.open = 'none';
    const head = 'event: content_block_stop\ndata: {"type":"content_block_stop","index":';
    this.out += `${head}${this.index}}\n\n`;
  }

  private lastUsage(): MessageUsage {
    if (this.usage !== undefined) return messageUsageOf(this.usage);
    return { ...NO_USAGE, input_tokens: this.terms.estimatedInputTokens, output_tokens: this.delivered.pieces };
  }

  private event(name: string, data: unknown): void {
    this.out += `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
  }
}

const NO_USAGE: MessageUsage = {
  input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 0,
};
