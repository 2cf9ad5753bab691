import { Controller, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Operation } from '../../common/canonical/canonical-request.js';
import { RoutingTable } from '../../common/config/routing-table.js';
import { RequireScope } from '../auth/require-scope.decorator.js';
import { Admittance } from '../proxy/admittance.js';
import type { Exchange } from '../proxy/exchange.js';
import { openExchange } from '../proxy/open-exchange.js';
import { Relay } from '../proxy/relay.js';
import { OpenAiRendering } from './core/openai/open-ai-rendering.js';
import { prepareRequest } from './core/openai/prepare-request.js';
import { ProblemRenderer } from './problem-renderer.js';

/** The OpenAI dialect: the caller's bytes on to the engine, the engine's bytes back. */
@Controller('v1')
export class OpenAiController {
  constructor(
    private readonly table: RoutingTable,
    private readonly admittance: Admittance,
    private readonly relay: Relay,
    private readonly problems: ProblemRenderer,
  ) {}

  @Post('chat/completions')
  @RequireScope({ operation: 'chat' })
  chat(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.serve('chat', openExchange(request, reply));
  }

  @Post('completions')
  @RequireScope({ operation: 'completions' })
  completions(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.serve('completions', openExchange(request, reply));
  }

  @Post('embeddings')
  @RequireScope({ operation: 'embeddings' })
  embeddings(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.serve('embeddings', openExchange(request, reply));
  }

  @Post('rerank')
  @RequireScope({ operation: 'rerank' })
  rerank(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.serve('rerank', openExchange(request, reply));
  }

  /** The whole line of a request. */
  async serve(operation: Operation, exchange: Exchange): Promise<void> {
    const { path, maxBodyBytes, timeouts } = this.table.operation(operation);
    exchange.asks('openai', operation);
    const bytes = await exchange.readJson(maxBodyBytes);
    const { request, model, body, terms } = prepareRequest(
      bytes,
      operation,
      this.table,
      exchange.forcedModel,
      exchange.requestId,
    );
    exchange.routed(model.id, model.upstream.name);
    const { caller } = exchange;
    const { contextLength } = model;
    using reservation = await this.admittance.reserve(caller, request, contextLength);
    exchange.reserved(reservation);
    const context = this.problems.contextOf(exchange.requestId);
    const rendering = new OpenAiRendering({ ...terms, context, createdSeconds: Math.floor(Date.now() / 1000) });
    if (request.stream) exchange.park(rendering);
    const asked = { upstream: model.upstream.name, caller, reservation, request, contextLength };
    using slot = await this.admittance.acquire(asked, exchange);
    exchange.admitted(slot.waitedMs);
    const call = { method: 'POST', path, headers: exchange.engineHeaders(), body };
    await this.relay.send(slot, { upstream: model.upstream, timeouts }, call, exchange, rendering);
  }
}
