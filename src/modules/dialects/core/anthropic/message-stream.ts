import { type Usage, usageFromOpenAi } from '../../../../common/canonical/usage.js';
import { DeliveredTokens } from '../delivered-tokens.js';
import { isObject, isText, type JsonObject } from '../json-value.js';
import { fragmentOf } from './call-fragment.js';
import { messageUsageOf } from './message-usage.js';
import type { ThinkingMode } from './messages-request.js';
import { stopMembers } from './stop-reason.js';
import { type CallSink, StreamedCalls } from './streamed-calls.js';
import { type MessageUsage, SIGNATURE } from './wire.js';

/** What the stream has to know of its request. */
export interface StreamTerms {
  readonly id: string;
  /** The name that the client asked for. */
  readonly model: string;
  readonly thinking: ThinkingMode;
  /** Tokens of the prompt, as far as they can be known before the engine has counted them. */
  readonly estimatedInputTokens: number;
}

type Block = 'none' | 'text' | 'thinking' | 'tool';

const STOP_EVENT = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';
const DELTA = 'event: content_block_delta\ndata: {"type":"content_block_delta","index":';

/**
 * Chunks of chat completions in, events of the dialect out, one after the other and as text: blocks are numbered, and
 * never two of them are open.
 */
export class MessageStream implements CallSink {
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

  constructor(private readonly terms: StreamTerms) {
    this.calls = new StreamedCalls(this, terms.id);
  }

  get deliveredTokens(): number {
    return this.delivered.tokens;
  }

  /** Why the engine's tool calls are of no use; undefined: they are. */
  get fault(): string | undefined {
    return this.calls.fault;
  }

  /** `source`: the JSON text of the chunk. */
  chunk(chunk: JsonObject, source: string): void {
    this.start();
    if (isObject(chunk['usage'])) this.usage = usageFromOpenAi(chunk['usage']);
    const choices = chunk['choices'];
    if (!Array.isArray(choices)) return;
    for (let at = 0; at < choices.length; at += 1) {
      const choice: unknown = choices[at];
      if (isObject(choice) && (choice['index'] ?? 0) === 0) this.choice(choice, source, ['choices', at, 'delta']);
    }
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
    this.closeBlock();
    const called = this.calls.any;
    const delta = stopMembers({ reason: this.reason, matched: this.matched, refused: this.refused, called });
    this.event('message_delta', { type: 'message_delta', delta, usage: this.lastUsage() });
    this.out += STOP_EVENT;
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

  private choice(choice: JsonObject, source: string, path: readonly (string | number)[]): void {
    const delta = choice['delta'];
    if (isObject(delta)) this.delta(delta, source, path);
    const reason = choice['finish_reason'];
    if (!isText(reason)) return;
    this.finished = true;
    this.reason = reason;
    this.matched = choice['stop_reason'] ?? this.matched;
  }

  private delta(delta: JsonObject, source: string, path: readonly (string | number)[]): void {
    const { reasoning_content: named, reasoning: renamed, content, refusal, tool_calls: calls } = delta;
    if (isText(named)) this.thinking(named);
    else if (isText(renamed)) this.thinking(renamed);
    if (isText(content)) this.text(content);
    if (isText(refusal)) {
      this.refused = true;
      this.text(refusal);
    }
    if (!Array.isArray(calls)) return;
    calls.forEach((call: unknown, at) => {
      if (isObject(call)) this.call(call, source, [...path, 'tool_calls', at]);
    });
  }

  private text(text: string): void {
    this.piece(text);
    if (this.open !== 'text') this.openBlock('text', '{"type":"text","text":""}');
    this.out += `${DELTA}${this.index},"delta":{"type":"text_delta","text":${JSON.stringify(text)}}}\n\n`;
  }

  private thinking(text: string): void {
    const { thinking } = this.terms;
    if (thinking === 'off') return;
    this.piece(text);
    if (this.open !== 'thinking') this.openBlock('thinking', '{"type":"thinking","thinking":"","signature":""}');
    if (thinking === 'omitted') return;
    this.out += `${DELTA}${this.index},"delta":{"type":"thinking_delta","thinking":${JSON.stringify(text)}}}\n\n`;
  }

  private call(call: JsonObject, source: string, path: readonly (string | number)[]): void {
    const fragment = fragmentOf(call, source, path);
    this.piece(fragment.arguments);
    this.calls.take(fragment);
  }

  private piece(text: string): void {
    this.contentSeen = true;
    this.delivered.piece(Buffer.byteLength(text));
  }

  private openBlock(kind: Block, block: string): void {
    // Text in between ends the calls so far, which may still wait for their turn.
    if (kind !== 'tool' && this.calls.any) this.calls.flush(false);
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
