import { Controller, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RoutingTable } from '../../common/config/routing-table.js';
import type { Rendering } from '../../common/rendering.js';
import { RequireScope } from '../auth/require-scope.decorator.js';
import { Admittance } from '../proxy/admittance.js';
import type { Exchange } from '../proxy/exchange.js';
import { openExchange } from '../proxy/open-exchange.js';
import { Relay } from '../proxy/relay.js';
import { NativeRendering } from './core/native-rendering.js';
import { NativeResponseWords } from './core/responses/native-words.js';
import { type PreparedResponse, prepareResponse } from './core/responses/prepare-request.js';
import { ResponsesRendering } from './core/responses/responses-rendering.js';
import { ProblemRenderer } from './problem-renderer.js';

/** Where an engine that speaks the dialect itself takes it. */
const NATIVE_PATH = '/v1/responses';

/** The Responses dialect: translated for engines that speak chat completions, untouched for those that speak it too. */
@Controller('v1/responses')
@RequireScope({ operation: 'chat' })
export class ResponsesController {
  constructor(
    private readonly table: RoutingTable,
    private readonly admittance: Admittance,
    private readonly relay: Relay,
    private readonly problems: ProblemRenderer,
  ) {}

  @Post()
  create(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.serve(openExchange(request, reply));
  }

  /** The whole line of a request. */
  async serve(exchange: Exchange): Promise<void> {
    const { path, maxBodyBytes, timeouts } = this.table.operation('chat');
    exchange.asks('responses', 'chat');
    const prepared = prepareResponse(await exchange.readJson(maxBodyBytes), this.table);
    const { model, native, body, request: asks } = prepared;
    const { caller } = exchange;
    const { contextLength } = model;
    exchange.routed(model.id, model.upstream.name);
    using reservation = await this.admittance.reserve(caller, asks, contextLength);
    exchange.reserved(reservation);
    const rendering = this.#rendering(prepared, exchange);
    if (asks.stream) exchange.park(rendering);
    const asked = { upstream: model.upstream.name, caller, reservation, request: asks, contextLength };
    using slot = await this.admittance.acquire(asked, exchange);
    exchange.admitted(slot.waitedMs);
    const call = { method: 'POST', path: native ? NATIVE_PATH : path, headers: exchange.engineHeaders(), body };
    await this.relay.send(slot, { upstream: model.upstream, timeouts }, call, exchange, rendering);
  }

  #rendering({ native, request, model, settings }: PreparedResponse, exchange: Exchange): Rendering {
    const context = this.problems.contextOf(exchange.requestId);
    if (native) return new NativeRendering(new NativeResponseWords(context));
    return new ResponsesRendering({
      model: model.id,
      stream: request.stream,
      createdSeconds: Math.floor(Date.now() / 1000),
      settings,
      estimatedInputTokens: this.admittance.promptTokens(request, exchange.caller, model.contextLength),
      context,
    });
  }
}
