import { Controller, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Rendering } from '../../common/rendering.js';
import { RoutingTable } from '../../common/config/routing-table.js';
import { SlotController } from '../admission/slot-controller.js';
import { RequireScope } from '../auth/require-scope.decorator.js';
import type { Exchange } from '../proxy/exchange.js';
import { openExchange } from '../proxy/open-exchange.js';
import { Relay } from '../proxy/relay.js';
import { AnthropicRendering } from './core/anthropic/anthropic-rendering.js';
import { nativeFields } from './core/anthropic/native-fields.js';
import { NativeRendering } from './core/anthropic/native-rendering.js';
import { prepareMessages, type PreparedMessages } from './core/anthropic/prepare-request.js';
import { ProblemRenderer } from './problem-renderer.js';
import { TokenCounter } from './token-counter.js';

/** Where an engine that speaks the dialect itself takes it. */
const NATIVE_PATH = '/v1/messages';

/** The Messages dialect: translated for engines that speak chat completions, untouched for those that speak it too. */
@Controller('llm/v1/messages')
@RequireScope({ operation: 'chat' })
export class AnthropicController {
  constructor(
    private readonly table: RoutingTable,
    private readonly slots: SlotController,
    private readonly relay: Relay,
    private readonly problems: ProblemRenderer,
    private readonly counter: TokenCounter,
  ) {}

  /** The whole line of a request. */
  @Post()
  async create(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const exchange = openExchange(request, reply);
    const { path, timeouts } = this.table.operation('chat');
    const prepared = await this.#prepare(exchange, 'answer');
    const { model, native, body } = prepared;
    const rendering = this.#rendering(prepared, exchange);
    if (prepared.request.stream) exchange.park(rendering);
    const asked = {
      upstream: model.upstream.name,
      caller: exchange.caller,
      request: prepared.request,
      contextLength: model.contextLength,
    };
    using slot = await this.slots.acquire(asked, exchange);
    exchange.admitted(slot.waitedMs);
    const call = { method: 'POST', path: native ? NATIVE_PATH : path, headers: headersOf(exchange, native), body };
    await this.relay.send(slot, { upstream: model.upstream, timeouts }, call, exchange, rendering);
  }

  /** Counting waits for no slot: it makes nothing. */
  @Post('count_tokens')
  async count(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const exchange = openExchange(request, reply);
    const { timeouts } = this.table.operation('chat');
    const prepared = await this.#prepare(exchange, 'count');
    exchange.record.needsNoPlace();
    const headers = headersOf(exchange, prepared.native);
    const context = this.problems.contextOf(exchange.requestId);
    exchange.sendWhole(await this.counter.count(prepared, headers, timeouts, exchange, context));
  }

  async #prepare(exchange: Exchange, purpose: 'answer' | 'count'): Promise<PreparedMessages> {
    exchange.asks('anthropic', 'chat');
    const bytes = await exchange.readJson(this.table.operation('chat').maxBodyBytes);
    const prepared = prepareMessages(bytes, this.table, purpose);
    exchange.routed(prepared.model.id, prepared.model.upstream.name);
    return prepared;
  }

  #rendering({ native, request, model, thinking }: PreparedMessages, exchange: Exchange): Rendering {
    const context = this.problems.contextOf(exchange.requestId);
    if (native) return new NativeRendering(context);
    return new AnthropicRendering({
      model: model.id,
      stream: request.stream,
      thinking,
      estimatedInputTokens: this.slots.promptTokens(request, exchange.caller, model.contextLength),
      context,
    });
  }
}

const headersOf = (exchange: Exchange, native: boolean): string[] =>
  native ? [...exchange.engineHeaders(), ...nativeFields(exchange.request.headers)] : exchange.engineHeaders();
