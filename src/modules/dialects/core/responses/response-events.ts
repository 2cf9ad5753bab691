import type { Usage } from '../../../../common/canonical/usage.js';
import type { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import type { CallFragment } from '../call-fragment.js';
import { type ChunkSink, readChunk } from '../chat-chunk.js';
import { DeliveredTokens } from '../delivered-tokens.js';
import type { EngineError } from '../engine-error.js';
import type { JsonObject } from '../json-value.js';
import type { AnswerEvents } from '../translated-stream.js';
import { NumberedEvents } from './numbered-events.js';
import { Output } from './output.js';
import { type PartKind, REFUSAL, TEXT, THOUGHT } from './output-part.js';
import { type ResponseError, responseErrorFrom, responseErrorOf } from './response-error.js';
import { usageJson } from './response-usage.js';

/** What an answer has to know of its request. */
export interface ResponseTerms {
  /** Tells this answer from all others. */
  readonly seed: string;
  /** The name that the client asked for. */
  readonly model: string;
  /** When the request came, Unix time. */
  readonly createdSeconds: number;
  /** What the response repeats of its request, as the members of a JSON object. */
  readonly settings: string;
  /** Tokens of the prompt, as far as they can be known before the engine has counted them. */
  readonly estimatedInputTokens: number;
}

type Status = 'in_progress' | 'completed' | 'incomplete' | 'failed';

/** Why an answer is incomplete, by the engine's reason to stop. */
const INCOMPLETE: ReadonlyMap<string, string> = new Map([
  ['length', 'max_output_tokens'],
  ['content_filter', 'content_filter'],
]);
/** All that is said is said again at the end, and so has to be kept. */
const LONGEST_ANSWER_CHARACTERS = 64 * 1024 * 1024;

/** Chunks of chat completions in, events of the dialect out, one after the other and as text. */
export class ResponseEvents implements AnswerEvents, ChunkSink {
  usage: Usage | undefined;
  contentSeen = false;
  /** A finish_reason has come: what may still follow is the usage. */
  finished = false;
  /** The response as it was last told, in JSON. */
  response = '';
  private readonly events = new NumberedEvents();
  private readonly output: Output;
  private created = false;
  private inProgress = false;
  private reason = '';
  private tooLong: string | undefined;
  private characters = 0;
  private readonly delivered = new DeliveredTokens();

  constructor(private readonly terms: ResponseTerms) {
    this.output = new Output(this.events, terms.seed);
  }

  get deliveredTokens(): number {
    return this.delivered.tokens;
  }

  get fault(): string | undefined {
    return this.tooLong ?? this.output.fault;
  }

  chunk(chunk: JsonObject, source: string): void {
    this.start();
    readChunk(chunk, source, this);
  }

  end(): void {
    this.start();
    const reason = INCOMPLETE.get(this.reason);
    this.output.close(reason !== undefined);
    if (this.fault !== undefined) return;
    const usage = usageJson(this.usage ?? this.estimate());
    if (reason === undefined) return this.tell('completed', { usage });
    this.tell('incomplete', { usage, incomplete: JSON.stringify({ reason }) });
  }

  engineFailed(error: EngineError, status: number): void {
    this.fail(responseErrorOf(error, status));
  }

  failed(problem: GatewayProblem): void {
    this.fail(responseErrorFrom(problem));
  }

  /** The first is `response.created`, since nothing may come before it. */
  beat(): void {
    if (!this.created) this.create();
    else this.progress();
  }

  take(): string {
    return this.events.take();
  }

  thought(text: string): void {
    this.say(THOUGHT, text);
  }

  text(text: string): void {
    this.say(TEXT, text);
  }

  refusal(text: string): void {
    this.say(REFUSAL, text);
  }

  call(fragment: CallFragment): void {
    if (this.hasRoomFor(fragment.arguments)) this.output.call(fragment);
  }

  finish(reason: string): void {
    this.finished = true;
    this.reason = reason;
  }

  counted(usage: Usage | undefined): void {
    this.usage = usage;
  }

  private say(kind: PartKind, text: string): void {
    if (this.hasRoomFor(text)) this.output.say(kind, text);
  }

  private hasRoomFor(text: string): boolean {
    this.contentSeen = true;
    this.delivered.piece(Buffer.byteLength(text));
    this.characters += text.length;
    if (this.characters > LONGEST_ANSWER_CHARACTERS) this.tooLong ??= 'the answer is too long to be kept';
    return this.tooLong === undefined;
  }

  private start(): void {
    if (this.inProgress) return;
    if (!this.created) this.create();
    this.progress();
  }

  private create(): void {
    this.created = true;
    this.events.add('response.created', `,"response":${this.json('in_progress', {})}`);
  }

  private progress(): void {
    this.inProgress = true;
    this.events.add('response.in_progress', `,"response":${this.json('in_progress', {})}`);
  }

  private fail(error: ResponseError): void {
    this.start();
    const usage = this.usage === undefined ? 'null' : usageJson(this.usage);
    this.tell('failed', { usage, error: JSON.stringify(error) });
  }

  /** The end of the answer. */
  private tell(status: Exclude<Status, 'in_progress'>, members: ResponseMembers): void {
    this.response = this.json(status, { ...members, output: this.output.json() });
    this.events.add(`response.${status}`, `,"response":${this.response}`);
  }

  private json(
    status: Status,
    { error = 'null', incomplete = 'null', output = '', usage = 'null' }: ResponseMembers,
  ): string {
    const { seed, createdSeconds, model, settings } = this.terms;
    const head = `{"id":${JSON.stringify(`resp_${seed}`)},"object":"response","created_at":${createdSeconds}`;
    const end = `"status":"${status}","error":${error},"incomplete_details":${incomplete}`;
    return `${head},${end},"model":${JSON.stringify(model)},"output":[${output}],"usage":${usage},${settings}}`;
  }

  private estimate(): Usage {
    const { estimatedInputTokens: promptTokens } = this.terms;
    return { promptTokens, completionTokens: this.delivered.pieces, cachedTokens: 0, reasoningTokens: 0 };
  }
}

/** Members of a response that change, as JSON text; `output` without its brackets. */
interface ResponseMembers {
  readonly error?: string;
  readonly incomplete?: string;
  readonly output?: string;
  readonly usage?: string;
}
