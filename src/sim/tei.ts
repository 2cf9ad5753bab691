import { systemClock, type Clock } from '../common/clock.js';
import { ENCODER, type EngineProfile } from './core/profiles.js';
import { VirtualEngine } from './core/virtual-engine.js';
import { base64Of, embed, relevance, sigmoid } from './tei/inference.js';
import { NO_TEI_COUNTS, teiInfo, teiMetrics, type TeiCounts, type TeiLimits } from './tei/pages.js';
import { parseTeiBody, readText, readTexts, TeiRefusal } from './tei/tei-body.js';
import type { SimExchange } from './wire/exchange.js';
import type { ListenOptions, SimApp, SimServer, SimStats } from './wire/sim-app.js';
import { startServer } from './wire/sim-server.js';

export interface TeiOptions extends ListenOptions, TeiLimits {
  /** Absent: a small encoder. */
  readonly profile?: EngineProfile;
  /** Simulated seconds in one real second; absent: 1. */
  readonly timeScale?: number;
  /** Of a vector; absent: 768. */
  readonly dimensions?: number;
  readonly clock?: Clock;
}

/** Starts a server that speaks as Text Embeddings Inference does. */
export const startTei = (options: TeiOptions): Promise<SimServer> => startServer(new TeiApp(options), options);

/** A text as the engine takes it, in tokens; and what is made of all of them once they are through. */
interface Work {
  readonly texts: readonly string[];
  readonly answer: (tokens: number) => unknown;
}

const CHARACTERS_PER_TOKEN = 4;
const POST_ROUTES = ['/v1/embeddings', '/embed', '/rerank'];

class TeiApp implements SimApp {
  private readonly engine: VirtualEngine;
  private readonly counts: TeiCounts = { ...NO_TEI_COUNTS };
  private lastText = 0;

  constructor(private readonly options: TeiOptions) {
    const { profile = ENCODER, clock = systemClock, timeScale = 1 } = options;
    this.engine = new VirtualEngine(profile, clock, timeScale);
  }

  handle(exchange: SimExchange): void {
    try {
      this.route(exchange);
    } catch (error) {
      if (!(error instanceof TeiRefusal)) throw error;
      this.refuse(exchange, error);
    }
  }

  fail(exchange: SimExchange, status: number): void {
    this.refuse(exchange, new TeiRefusal(status, 'Backend', 'inference failed: the backend is gone'));
  }

  gauges(): Pick<SimStats, 'running' | 'waiting' | 'peakRunning'> {
    return this.engine.gauges();
  }

  stepLeftMs(): number {
    return this.engine.stepLeftMs();
  }

  crash(): void {
    this.engine.crash();
  }

  private route(exchange: SimExchange): void {
    const { method, path } = exchange;
    if (POST_ROUTES.includes(path) && method !== 'POST') return exchange.send(405, '', { allow: 'POST' });
    switch (`${method} ${path}`) {
      case 'GET /health':
        return exchange.send(200, '');
      case 'GET /info':
        return exchange.json(200, teiInfo(this.options, this.engine.core.profile));
      case 'GET /metrics':
        return exchange.send(200, teiMetrics(this.counts, this.engine), {
          'content-type': 'text/plain; version=0.0.4',
        });
      case 'POST /v1/embeddings':
        return this.run(exchange, this.openAiEmbeddings(exchange.body));
      case 'POST /embed':
        return this.run(exchange, this.plainEmbeddings(exchange.body));
      case 'POST /rerank':
        return this.run(exchange, this.rerank(exchange.body));
      default:
        return exchange.send(404, '');
    }
  }

  private openAiEmbeddings(bytes: Buffer): Work {
    this.mustBe('embedding');
    const body = parseTeiBody(bytes);
    const texts = readTexts(body, 'input');
    const encode =
      body['encoding_format'] === 'base64' ? base64Of : (vector: Float32Array): number[] => Array.from(vector);
    return {
      texts,
      answer: (tokens) => ({
        object: 'list',
        data: texts.map((text, index) => ({ object: 'embedding', embedding: encode(this.vectorOf(text)), index })),
        model: this.options.model,
        usage: { prompt_tokens: tokens, total_tokens: tokens },
      }),
    };
  }

  private plainEmbeddings(bytes: Buffer): Work {
    this.mustBe('embedding');
    const texts = readTexts(parseTeiBody(bytes), 'inputs');
    return { texts, answer: () => texts.map((text) => Array.from(this.vectorOf(text))) };
  }

  private rerank(bytes: Buffer): Work {
    this.mustBe('reranker');
    const body = parseTeiBody(bytes);
    const query = readText(body, 'query');
    const texts = readTexts(body, 'texts');
    const score = (text: string): number =>
      body['raw_scores'] === true ? relevance(query, text) : sigmoid(relevance(query, text));
    const answer = (): unknown =>
      texts
        .map((text, index) => ({ index, ...(body['return_text'] === true ? { text } : {}), score: score(text) }))
        .toSorted((one, other) => other.score - one.score);
    return { texts: texts.map((text) => query + text), answer };
  }

  private mustBe(kind: TeiOptions['kind']): void {
    if (this.options.kind === kind) return;
    throw new TeiRefusal(
      424,
      'Backend',
      kind === 'reranker' ? 'model is not a re-ranker model' : 'model is not an embedding model',
    );
  }

  /** Sends every text through the engine as a sequence of its own, and answers when the last one is through. */
  private run(exchange: SimExchange, { texts, answer }: Work): void {
    const method = texts.length === 1 ? 'single' : 'batch';
    this.counts[method] += 1;
    this.checkRoom(texts.length);
    const tokens = texts.map((text) => this.tokensOf(text));
    let left = texts.length;
    const ids = tokens.map((promptTokens) => {
      this.lastText += 1;
      const id = `text-${this.lastText}`;
      this.engine.submit(
        { id, promptTokens, outputTokens: 1 },
        {
          tokens: () => undefined,
          ended: (how) => {
            if (how === 'finished') left -= 1;
            if (how !== 'finished' || left > 0) return;
            this.counts[method === 'single' ? 'successSingle' : 'successBatch'] += 1;
            exchange.json(200, answer(tokens.reduce((sum, count) => sum + count, 0)));
          },
        },
      );
      return id;
    });
    exchange.onClosed(() => ids.forEach((id) => this.engine.abort(id)));
  }

  private checkRoom(texts: number): void {
    const { maxClientBatchSize = 32, maxConcurrentRequests = 512 } = this.options;
    if (texts > maxClientBatchSize) {
      throw new TeiRefusal(413, 'Validation', `batch size ${texts} > maximum allowed batch size ${maxClientBatchSize}`);
    }
    const { running, waiting } = this.engine.gauges();
    if (running + waiting + texts > maxConcurrentRequests)
      throw new TeiRefusal(429, 'Overloaded', 'Model is overloaded');
  }

  private tokensOf(text: string): number {
    return Math.min(Math.ceil(text.length / CHARACTERS_PER_TOKEN), this.options.maxInputLength ?? 512);
  }

  private vectorOf(text: string): Float32Array {
    return embed(text, this.options.dimensions ?? 768);
  }

  /** The OpenAI-compatible path has another shape of error than the native ones. */
  private refuse(exchange: SimExchange, { status, type, message }: TeiRefusal): void {
    if (type === 'Overloaded') this.counts.overloaded += 1;
    if (type === 'Validation') this.counts.validation += 1;
    if (type === 'Backend') this.counts.backend += 1;
    if (type === 'plain') return exchange.send(status, message, { 'content-type': 'text/plain; charset=utf-8' });
    if (exchange.path === '/v1/embeddings')
      return exchange.json(status, { message, code: status, type: type.toLowerCase() });
    exchange.json(status, { error: message, error_type: type });
  }
}
