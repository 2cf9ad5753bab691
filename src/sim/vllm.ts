import { randomUUID } from 'node:crypto';
import { systemClock, type Clock } from '../common/clock.js';
import { VOLTA, type EngineProfile } from './core/profiles.js';
import { VirtualEngine } from './core/virtual-engine.js';
import { planAnswer } from './openai/answer-plan.js';
import { readChat, readCompletions, readForced, type Ask } from './openai/ask.js';
import { Generation, type Choice } from './openai/generation.js';
import { checkLength, checkVllmChat, missing, parseObject, Refusal } from './openai/refusal.js';
import { vllmChatFormat, vllmCompletionsFormat, type VllmStyle } from './openai/vllm-format.js';
import { vllmMetrics } from './vllm-metrics.js';
import type { SimExchange } from './wire/exchange.js';
import { listFrom, stringFrom, type JsonObject } from './wire/json.js';
import type { ListenOptions, SimApp, SimServer, SimStats } from './wire/sim-app.js';
import { startServer } from './wire/sim-server.js';

export interface VllmOptions extends ListenOptions, Partial<VllmStyle> {
  /** Served names of one model; the first is its own. */
  readonly models: readonly [string, ...string[]];
  /** Absent: Volta. */
  readonly profile?: EngineProfile;
  /** Simulated seconds in one real second; absent: 1. */
  readonly timeScale?: number;
  readonly seed?: number;
  /** Engine cores behind the one address (data parallel); absent: 1. */
  readonly engines?: number;
  /** Tokens of prompt and answer together; absent: what the KV memory holds. */
  readonly maxModelLen?: number;
  /** The model thinks first; absent: it does. */
  readonly reasons?: boolean;
  readonly metricNames?: 'v1' | 'v0';
  readonly pidSeries?: boolean;
  /** `flat`: as releases before 0.10; `fastapi`: besides, FastAPI's own 422 for what pydantic refuses; absent: `nested`. */
  readonly errorStyle?: 'nested' | 'flat' | 'fastapi';
  /** Answers 503 where more prompt tokens than this would wait; absent: the queue has no end. */
  readonly maxQueuedTokens?: number;
  readonly clock?: Clock;
}

export interface VllmServer extends SimServer {
  readonly engines: readonly VirtualEngine[];
}

/** Starts a server that speaks, queues and counts as vLLM does. */
export async function startVllm(options: VllmOptions): Promise<VllmServer> {
  const app = new VllmApp(options);
  return Object.assign(await startServer(app, options), { engines: app.engines });
}

const GET_ROUTES = ['/health', '/version', '/metrics', '/v1/models'];
const POST_ROUTES = ['/v1/chat/completions', '/v1/completions', '/tokenize'];

class VllmApp implements SimApp {
  readonly engines: readonly VirtualEngine[];
  private readonly style: VllmStyle;
  private readonly maxModelLen: number;
  private startedAt = Date.now() / 1_000;

  constructor(private readonly options: VllmOptions) {
    const { profile = VOLTA, clock = systemClock, timeScale = 1, engines = 1 } = options;
    this.engines = Array.from({ length: engines }, () => new VirtualEngine(profile, clock, timeScale));
    this.maxModelLen = Math.min(options.maxModelLen ?? Infinity, profile.blocks * profile.blockTokens);
    const { reasoningField = 'reasoning_content', bareNamedCalls = true } = options;
    this.style = { reasoningField, bareNamedCalls };
  }

  handle(exchange: SimExchange): void {
    try {
      this.route(exchange);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.refuse(exchange, error);
    }
  }

  fail(exchange: SimExchange, status: number): void {
    this.refuse(
      exchange,
      new Refusal(
        status,
        'InternalServerError',
        'EngineCore encountered an issue. See stack trace (above) for the root cause.',
      ),
    );
  }

  gauges(): Pick<SimStats, 'running' | 'waiting' | 'peakRunning'> {
    const sum = (name: 'running' | 'waiting' | 'peakRunning'): number =>
      this.engines.reduce((total, engine) => total + engine.gauges()[name], 0);
    return { running: sum('running'), waiting: sum('waiting'), peakRunning: sum('peakRunning') };
  }

  stepLeftMs(): number {
    return Math.max(...this.engines.map((engine) => engine.stepLeftMs()));
  }

  crash(): void {
    for (const engine of this.engines) engine.crash();
    // A restart within the same millisecond is a restart all the same.
    this.startedAt = Math.max(Date.now() / 1_000, this.startedAt + 0.001);
  }

  private route(exchange: SimExchange): void {
    const { method, path } = exchange;
    if (!GET_ROUTES.includes(path) && !POST_ROUTES.includes(path)) return exchange.json(404, { detail: 'Not Found' });
    const allowed = POST_ROUTES.includes(path) ? 'POST' : 'GET';
    if (method !== allowed) return exchange.json(405, { detail: 'Method Not Allowed' }, { allow: allowed });
    switch (path) {
      case '/health':
        return exchange.send(200, '');
      case '/version':
        return exchange.json(200, { version: '0.10.2' });
      case '/metrics':
        return exchange.send(200, this.metrics(), { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
      case '/v1/models':
        return exchange.json(200, { object: 'list', data: this.options.models.map((model) => this.modelCard(model)) });
      case '/tokenize':
        return this.tokenize(exchange);
      default:
        return this.generate(exchange);
    }
  }

  private generate(exchange: SimExchange): void {
    const body = this.readBody(exchange);
    const isChat = exchange.path === '/v1/chat/completions';
    if (isChat) checkVllmChat(body);
    else if (body['prompt'] === undefined) throw missing('prompt');
    const forced = readForced(body, exchange.req.headers);
    const ask = (isChat ? readChat : readCompletions)(body, forced, this.blockTokens);
    const choices = this.choicesFor(ask);
    const id = randomUUID().replaceAll('-', '');
    const identity = {
      id: `${isChat ? 'chatcmpl' : 'cmpl'}-${id}`,
      created: Math.floor(Date.now() / 1_000),
      model: ask.model,
    };
    const format = isChat ? vllmChatFormat(identity, ask, this.style) : vllmCompletionsFormat(identity);
    new Generation(exchange, ask, choices, format).start();
  }

  /** Plans every answer first: a request is refused as a whole, before anything runs. */
  private choicesFor(ask: Ask): Choice[] {
    const { reasons = true, seed = 0 } = this.options;
    const engine = this.leastLoaded();
    const planned = ask.prompts.flatMap((prompt, at) => {
      const limit = checkLength(prompt.tokens, ask.maxTokens, this.maxModelLen);
      return Array.from({ length: ask.choices }, (_, choice): Choice => {
        const plan = planAnswer(ask, prompt.text, { seed, choice, reasons, limit });
        return { index: at * ask.choices + choice, prompt, plan, engine };
      });
    });
    const tokens = ask.prompts.reduce((sum, prompt) => sum + prompt.tokens, engine.gauges().waitingTokens);
    if (tokens > (this.options.maxQueuedTokens ?? Infinity)) {
      throw new Refusal(503, 'ServiceUnavailableError', 'The server is overloaded: too many tokens are queued.');
    }
    return planned;
  }

  private leastLoaded(): VirtualEngine {
    const load = (engine: VirtualEngine): number => engine.gauges().running + engine.gauges().waiting;
    return this.engines.reduce((least, engine) => (load(engine) < load(least) ? engine : least));
  }

  private tokenize(exchange: SimExchange): void {
    const body = this.readBody(exchange);
    const read = listFrom(body['messages']) === undefined ? readCompletions : readChat;
    const tokens = read(body, readForced(body, exchange.req.headers), this.blockTokens).prompts[0]?.tokens ?? 0;
    const ids = Array.from({ length: tokens }, (_, at) => at);
    exchange.json(200, { count: tokens, max_model_len: this.maxModelLen, tokens: ids, token_strs: null });
  }

  private readBody(exchange: SimExchange): JsonObject {
    const body = parseObject(exchange.body, (reason) => new Refusal(400, 'Bad Request', reason));
    const model = stringFrom(body['model']);
    // vLLM takes its only model for granted where none is named.
    if (model === undefined) return { ...body, model: this.options.models[0] };
    if (this.options.models.includes(model)) return body;
    throw new Refusal(404, 'NotFoundError', `The model \`${model}\` does not exist.`, 'model');
  }

  private refuse(exchange: SimExchange, { status, type, message, param }: Refusal): void {
    const { errorStyle = 'nested' } = this.options;
    const byPydantic = type === 'Bad Request';
    if (errorStyle === 'nested') return exchange.json(status, { error: { message, type, param, code: status } });
    if (errorStyle === 'fastapi' && byPydantic) {
      return exchange.json(422, {
        detail: [{ type: 'value_error', loc: ['body', param ?? 0], msg: message, input: null }],
      });
    }
    exchange.json(status, {
      object: 'error',
      message,
      type: byPydantic ? 'BadRequestError' : type,
      param,
      code: status,
    });
  }

  private metrics(): string {
    const { metricNames: names = 'v1', pidSeries = false, models } = this.options;
    return vllmMetrics(this.engines, { model: models[0], names, pidSeries, startedAt: this.startedAt });
  }

  private modelCard(id: string): object {
    const created = Math.floor(this.startedAt);
    return {
      id,
      object: 'model',
      created,
      owned_by: 'vllm',
      root: this.options.models[0],
      parent: null,
      max_model_len: this.maxModelLen,
    };
  }

  private get blockTokens(): number {
    return this.engines[0]?.core.profile.blockTokens ?? VOLTA.blockTokens;
  }
}
