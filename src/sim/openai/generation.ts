import type { SequenceSink, VirtualEngine } from '../core/virtual-engine.js';
import type { SimExchange } from '../wire/exchange.js';
import type { AnswerPlan, Piece } from './answer-plan.js';
import type { Ask, Prompt } from './ask.js';

/** One sequence that an engine runs for a request. */
export interface Choice {
  readonly index: number;
  readonly prompt: Prompt;
  readonly plan: AnswerPlan;
  readonly engine: VirtualEngine;
}

/** What the request has cost so far. */
export interface Spent {
  readonly promptTokens: number;
  completionTokens: number;
  reasoningTokens: number;
  cachedTokens: number;
}

/** How one engine writes its answers. */
export interface AnswerFormat {
  readonly streamHeaders: Readonly<Record<string, string>>;
  /** True: the head of a stream goes out with its first event; false: at once. */
  readonly headWithFirstEvent: boolean;
  /** Chunks of a choice before its first token. */
  opening(choice: number): readonly object[];
  /** The chunk of one token; undefined: it shows nothing. */
  piece(choice: number, piece: Piece): object | undefined;
  closing(choice: number, plan: AnswerPlan): readonly object[];
  usageChunk(spent: Spent): object;
  usage(spent: Spent): object;
  whole(choices: readonly Choice[], spent: Spent): object;
}

let lastSequence = 0;

/** Runs the choices of one request on their engines and answers with what comes out. */
export class Generation {
  private readonly spent: Spent;
  private readonly ids: string[] = [];
  private left: number;
  private begun = false;

  constructor(
    private readonly exchange: SimExchange,
    private readonly ask: Ask,
    private readonly choices: readonly Choice[],
    private readonly format: AnswerFormat,
  ) {
    this.left = choices.length;
    const promptTokens = ask.prompts.reduce((tokens, prompt) => tokens + prompt.tokens, 0);
    this.spent = { promptTokens, completionTokens: 0, reasoningTokens: 0, cachedTokens: 0 };
  }

  start(): void {
    if (this.exchange.gone) return;
    if (this.ask.stream && !this.format.headWithFirstEvent) this.begin();
    for (const choice of this.choices) this.submit(choice);
    this.exchange.onClosed(() => this.choices.forEach(({ engine }, at) => engine.abort(this.ids[at] ?? '')));
  }

  private submit(choice: Choice): void {
    lastSequence += 1;
    const id = `sequence-${lastSequence}`;
    this.ids.push(id);
    const { tokens: promptTokens, prefixKeys } = choice.prompt;
    const outputTokens = choice.plan.pieces.length;
    choice.engine.submit({ id, promptTokens, outputTokens, prefixKeys }, this.sinkOf(choice));
  }

  private sinkOf(choice: Choice): SequenceSink {
    let at = 0;
    return {
      first: (cachedTokens) => {
        this.spent.cachedTokens = Math.max(this.spent.cachedTokens, cachedTokens);
        this.format.opening(choice.index).forEach((chunk) => this.send(chunk));
      },
      tokens: (count) => {
        for (const piece of choice.plan.pieces.slice(at, at + count)) this.produce(choice.index, piece);
        at += count;
      },
      ended: (how) => {
        if (how === 'finished') this.finish(choice);
      },
    };
  }

  private produce(choice: number, piece: Piece): void {
    this.spent.completionTokens += 1;
    if (piece.kind === 'reasoning') this.spent.reasoningTokens += 1;
    const chunk = this.format.piece(choice, piece);
    if (chunk !== undefined) this.send(chunk);
  }

  private finish(choice: Choice): void {
    this.format.closing(choice.index, choice.plan).forEach((chunk) => this.send(chunk));
    this.left -= 1;
    if (this.left > 0) return;
    if (!this.ask.stream) return this.exchange.json(200, this.format.whole(this.choices, this.spent));
    if (this.ask.includeUsage) this.exchange.event(JSON.stringify(this.format.usageChunk(this.spent)));
    this.exchange.event('[DONE]');
    this.exchange.endStream();
  }

  private send(chunk: object): void {
    if (!this.ask.stream) return;
    if (!this.begun) this.begin();
    const shown = this.ask.continuousUsage ? { ...chunk, usage: this.format.usage(this.spent) } : chunk;
    this.exchange.event(JSON.stringify(shown));
  }

  private begin(): void {
    this.begun = true;
    this.exchange.beginStream(this.format.streamHeaders);
  }
}
