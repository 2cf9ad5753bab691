import { hashText } from './core/prng.js';
import { VOLTA, type EngineProfile } from './core/profiles.js';
import { VirtualEngine } from './core/virtual-engine.js';
import { systemClock, type Clock } from '../common/clock.js';
import { planAnswer } from './openai/answer-plan.js';
import { readChat, readCompletions, readForced, type Ask, type Prompt } from './openai/ask.js';
import { Generation } from './openai/generation.js';
import { ollamaChatFormat, ollamaCompletionsFormat } from './openai/ollama-format.js';
import { parseObject, Refusal } from './openai/refusal.js';
import type { SimExchange } from './wire/exchange.js';
import { listFrom, objectFrom, stringFrom, type JsonObject } from './wire/json.js';
import type { ListenOptions, SimApp, SimServer, SimStats } from './wire/sim-app.js';
import { startServer } from './wire/sim-server.js';

export interface OllamaOptions extends ListenOptions {
  readonly models: readonly [string, ...string[]];
  /** Absent: Volta. Its slots are those of each model (`OLLAMA_NUM_PARALLEL`). */
  readonly profile?: EngineProfile;
  /** Simulated seconds in one real second; absent: 1. */
  readonly timeScale?: number;
  readonly seed?: number;
  /** Requests of one model that wait (`OLLAMA_MAX_QUEUE`); one more is answered 503. Absent: 512. */
  readonly maxQueue?: number;
  /** Tokens; longer prompts are cut without a word. Absent: 32768. */
  readonly contextLength?: number;
  /** Those that think first; absent: none. */
  readonly reasoningModels?: readonly string[];
  /** `nested`: the OpenAI shape of newer releases; absent: `text`. */
  readonly errorStyle?: 'text' | 'nested';
  /** What ends a message with tool calls; some releases say `stop`. Absent: `tool_calls`. */
  readonly callsEndWith?: 'tool_calls' | 'stop';
  readonly clock?: Clock;
}

/** Starts a server that speaks as Ollama does behind its OpenAI-compatible paths. */
export const startOllama = (options: OllamaOptions): Promise<SimServer> => startServer(new OllamaApp(options), options);

/** Room that a prompt leaves for the answer, however long it is, in tokens. */
const ANSWER_ROOM = 256;

class OllamaApp implements SimApp {
  private readonly engines: ReadonlyMap<string, VirtualEngine>;
  private readonly contextLength: number;
  private readonly blockTokens: number;
  private answers = 0;

  constructor(private readonly options: OllamaOptions) {
    const { profile = VOLTA, clock = systemClock, timeScale = 1, models } = options;
    this.engines = new Map(models.map((model) => [model, new VirtualEngine(profile, clock, timeScale)]));
    this.contextLength = Math.min(options.contextLength ?? 32_768, profile.blocks * profile.blockTokens);
    this.blockTokens = profile.blockTokens;
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
    this.refuse(exchange, new Refusal(status, 'api_error', 'llama runner process has terminated: exit status 2'));
  }

  gauges(): Pick<SimStats, 'running' | 'waiting' | 'peakRunning'> {
    const all = [...this.engines.values()].map((engine) => engine.gauges());
    const sum = (name: 'running' | 'waiting' | 'peakRunning'): number =>
      all.reduce((total, gauges) => total + gauges[name], 0);
    return { running: sum('running'), waiting: sum('waiting'), peakRunning: sum('peakRunning') };
  }

  crash(): void {
    for (const engine of this.engines.values()) engine.crash();
  }

  private route(exchange: SimExchange): void {
    const route = `${exchange.method} ${exchange.path}`;
    switch (route) {
      case 'GET /':
        return exchange.send(200, 'Ollama is running', { 'content-type': 'text/plain; charset=utf-8' });
      case 'GET /api/version':
        return exchange.json(200, { version: '0.12.3' });
      case 'GET /api/ps':
        return exchange.json(200, { models: this.options.models.map((model) => this.residentModel(model)) });
      case 'GET /api/tags':
        return exchange.json(200, { models: this.options.models.map((model) => localModel(model)) });
      case 'GET /v1/models':
        return exchange.json(200, { object: 'list', data: this.options.models.map(modelCard) });
      case 'POST /v1/chat/completions':
        return this.generate(exchange, 'chat');
      case 'POST /v1/completions':
        return this.generate(exchange, 'completions');
      default:
        return exchange.send(404, '404 page not found', { 'content-type': 'text/plain' });
    }
  }

  private generate(exchange: SimExchange, kind: 'chat' | 'completions'): void {
    const body = parseObject(exchange.body, (reason) => new Refusal(400, 'invalid_request_error', reason));
    const model = stringFrom(body['model']) ?? '';
    const engine = this.engines.get(model);
    if (engine === undefined)
      throw new Refusal(404, 'not_found_error', `model "${model}" not found, try pulling it first`);
    if (kind === 'chat') checkMessages(body);
    if (engine.gauges().waiting >= (this.options.maxQueue ?? 512)) {
      throw new Refusal(503, 'api_error', 'server busy, please try again.  maximum pending requests exceeded');
    }
    const ask = this.readAsk(body, kind, exchange);
    const [prompt] = ask.prompts;
    if (prompt !== undefined) this.answer(exchange, ask, prompt, engine);
  }

  /** One answer to one prompt, whatever was asked, and no limit but `max_tokens`. */
  private readAsk(body: JsonObject, kind: 'chat' | 'completions', exchange: SimExchange): Ask {
    const { max_completion_tokens: _unknownHere, ...known } = body;
    const ask = (kind === 'chat' ? readChat : readCompletions)(
      known,
      readForced(body, exchange.req.headers),
      this.blockTokens,
    );
    const prompts = ask.prompts.slice(0, 1).map((prompt) => ({ ...prompt, tokens: this.promptTokens(prompt) }));
    return { ...ask, prompts, choices: 1, continuousUsage: false };
  }

  private promptTokens(prompt: Prompt): number {
    return Math.max(1, Math.min(prompt.tokens, this.contextLength - ANSWER_ROOM));
  }

  private answer(exchange: SimExchange, ask: Ask, prompt: Prompt, engine: VirtualEngine): void {
    const { seed = 0, reasoningModels = [], callsEndWith = 'tool_calls' } = this.options;
    const reasons = reasoningModels.includes(ask.model);
    const limit = Math.min(ask.maxTokens ?? Infinity, this.contextLength - prompt.tokens);
    const plan = planAnswer(ask, prompt.text, { seed, choice: 0, reasons, limit });
    this.answers += 1;
    const prefix = ask.kind === 'chat' ? 'chatcmpl' : 'cmpl';
    const identity = { id: `${prefix}-${this.answers}`, created: Math.floor(Date.now() / 1_000), model: ask.model };
    const format = ask.kind === 'chat' ? ollamaChatFormat(identity, callsEndWith) : ollamaCompletionsFormat(identity);
    new Generation(exchange, ask, [{ index: 0, prompt, plan, engine }], format).start();
  }

  private refuse(exchange: SimExchange, { status, type, message, param }: Refusal): void {
    const nested = this.options.errorStyle === 'nested';
    exchange.json(status, { error: nested ? { message, type, param, code: null } : message });
  }

  private residentModel(model: string): object {
    const { size, ...card } = localModel(model);
    return { ...card, size, size_vram: size, context_length: this.contextLength, expires_at: '2318-12-13T04:41:52Z' };
  }
}

const modelCard = (id: string): object => ({ id, object: 'model', created: 1_755_000_000, owned_by: 'library' });

const localModel = (model: string) => ({
  name: model,
  model,
  modified_at: '2026-08-12T10:00:00Z',
  size: 2_000_000_000 + hashText(model),
  digest: hashText(model).toString(16).padStart(64, '0'),
  details: {
    parent_model: '',
    format: 'gguf',
    family: 'sim',
    families: ['sim'],
    parameter_size: '',
    quantization_level: 'Q4_K_M',
  },
});

/** Throws where Ollama refuses a message: content must be there as text or parts, unless it is left out altogether. */
function checkMessages(body: JsonObject): void {
  const messages = listFrom(body['messages']) ?? [];
  if (messages.length === 0) throw new Refusal(400, 'invalid_request_error', "[] is too short - 'messages'");
  for (const message of messages.map((entry) => objectFrom(entry) ?? {})) {
    if (message['content'] === null)
      throw new Refusal(400, 'invalid_request_error', 'invalid message content type: <nil>');
  }
}
