import { Controller, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RoutingTable } from '../../common/config/routing-table.js';
import type { Rendering } from '../../common/rendering.js';
import { RequireScope } from '../auth/require-scope.decorator.js';
import { Admittance } from '../proxy/admittance.js';
import type { Exchange } from '../proxy/exchange.js';
import { Forwarder } from '../proxy/forwarder.js';
import { openExchange } from '../proxy/open-exchange.js';
import { NativeRendering } from './core/native-rendering.js';
import { NativeResponseWords } from './core/responses/native-words.js';
import { type PreparedResponse, prepareResponse } from './core/responses/prepare-request.js';
import { ResponsesRendering } from './core/responses/responses-rendering.js';
import { earlyRefusal } from './early-refusal.js';
import { ProblemRenderer } from './problem-renderer.js';
import { settled, type Served } from './served.js';

/** Where an engine that speaks the dialect itself takes it. */
const NATIVE_PATH = '/v1/responses';

/** The Responses dialect: translated for engines that speak chat completions, untouched for those that speak it too. */
@Controller('v1/responses')
@RequireScope({ operation: 'chat' })
export class ResponsesController {
  constructor(
    private readonly table: RoutingTable,
    private readonly admittance: Admittance,
    private readonly forwarder: Forwarder,
    private readonly problems: ProblemRenderer,
  ) {}

  @Post()
  create(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return settled(this.serve(openExchange(request, reply)));
  }

  /** The whole line of a request. */
  serve(exchange: Exchange): Served {
    exchange.asks('responses', 'chat');
    const read = exchange.readJson(this.table.operation('chat').maxBodyBytes);
    return read instanceof Promise
      ? read.then((bytes) => settled(this.#forward(exchange, bytes)))
      : this.#forward(exchange, read);
  }

  #forward(exchange: Exchange, bytes: Buffer): Served {
    const refused = earlyRefusal(this.table, this.admittance, exchange, 'chat', bytes);
    if (refused !== undefined) return refused;
    const { path, timeouts } = this.table.operation('chat');
    const prepared = prepareResponse(bytes, this.table);
    const { model, native, body, request } = prepared;
    const { upstream, contextLength } = model;
    exchange.routed(model.id, upstream.name);
    const rendering = this.#rendering(prepared, exchange);
    const call = { method: 'POST', path: native ? NATIVE_PATH : path, headers: exchange.engineHeaders(), body };
    return this.forwarder.forward({ upstream, timeouts, request, contextLength, call, rendering }, exchange);
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
