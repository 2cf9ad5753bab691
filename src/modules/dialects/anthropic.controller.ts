import { Controller, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Rendering } from '../../common/rendering.js';
import { RoutingTable } from '../../common/config/routing-table.js';
import { RequireScope } from '../auth/require-scope.decorator.js';
import { Admittance } from '../proxy/admittance.js';
import type { Exchange } from '../proxy/exchange.js';
import { Forwarder } from '../proxy/forwarder.js';
import { openExchange } from '../proxy/open-exchange.js';
import { AnthropicRendering } from './core/anthropic/anthropic-rendering.js';
import { nativeFields } from './core/anthropic/native-fields.js';
import { NativeMessageWords } from './core/anthropic/native-words.js';
import { prepareMessages, type PreparedMessages } from './core/anthropic/prepare-request.js';
import { NativeRendering } from './core/native-rendering.js';
import { earlyRefusal } from './early-refusal.js';
import { ProblemRenderer } from './problem-renderer.js';
import { settled, type Served } from './served.js';
import { TokenCounter } from './token-counter.js';

/** Where an engine that speaks the dialect itself takes it. */
const NATIVE_PATH = '/v1/messages';

/** The Messages dialect: translated for engines that speak chat completions, untouched for those that speak it too. */
@Controller('llm/v1/messages')
@RequireScope({ operation: 'chat', apiKey: true })
export class AnthropicController {
  constructor(
    private readonly table: RoutingTable,
    private readonly admittance: Admittance,
    private readonly forwarder: Forwarder,
    private readonly problems: ProblemRenderer,
    private readonly counter: TokenCounter,
  ) {}

  @Post()
  create(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return settled(this.serve(openExchange(request, reply)));
  }

  /** The whole line of a request. */
  serve(exchange: Exchange): Served {
    const read = this.#read(exchange);
    return read instanceof Promise
      ? read.then((bytes) => settled(this.#forward(exchange, bytes)))
      : this.#forward(exchange, read);
  }

  #forward(exchange: Exchange, bytes: Buffer): Served {
    const refused = earlyRefusal(this.table, this.admittance, exchange, 'chat', bytes);
    if (refused !== undefined) return refused;
    const { path, timeouts } = this.table.operation('chat');
    const prepared = this.#prepare(exchange, bytes, 'answer');
    const { model, native, body, request } = prepared;
    const { upstream, contextLength } = model;
    const rendering = this.#rendering(prepared, exchange);
    const call = { method: 'POST', path: native ? NATIVE_PATH : path, headers: headersOf(exchange, native), body };
    return this.forwarder.forward({ upstream, timeouts, request, contextLength, call, rendering }, exchange);
  }

  /** Counting waits for no slot: it makes nothing, and so it costs a request and no tokens. */
  @Post('count_tokens')
  async count(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const exchange = openExchange(request, reply);
    const { timeouts } = this.table.operation('chat');
    const prepared = this.#prepare(exchange, await this.#read(exchange), 'count');
    using reservation = await this.admittance.reserveOne(exchange.caller);
    exchange.reserved(reservation);
    exchange.record.needsNoPlace();
    const headers = headersOf(exchange, prepared.native);
    const context = this.problems.contextOf(exchange.requestId);
    const counted = await this.counter.count(prepared, headers, timeouts, exchange, context);
    reservation.settle(0);
    exchange.sendWhole(counted);
  }

  #read(exchange: Exchange): Buffer | Promise<Buffer> {
    exchange.asks('anthropic', 'chat');
    return exchange.readJson(this.table.operation('chat').maxBodyBytes);
  }

  #prepare(exchange: Exchange, bytes: Buffer, purpose: 'answer' | 'count'): PreparedMessages {
    const prepared = prepareMessages(bytes, this.table, purpose);
    exchange.routed(prepared.model.id, prepared.model.upstream.name);
    return prepared;
  }

  #rendering({ native, request, model, thinking }: PreparedMessages, exchange: Exchange): Rendering {
    const context = this.problems.contextOf(exchange.requestId);
    if (native) return new NativeRendering(new NativeMessageWords(context));
    return new AnthropicRendering({
      model: model.id,
      stream: request.stream,
      thinking,
      estimatedInputTokens: this.admittance.promptTokens(request, exchange.caller, model.contextLength),
      context,
    });
  }
}

const headersOf = (exchange: Exchange, native: boolean): string[] =>
  native ? [...exchange.engineHeaders(), ...nativeFields(exchange.request.headers)] : exchange.engineHeaders();
