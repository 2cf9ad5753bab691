import { Controller, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Operation } from '../../common/canonical/canonical-request.js';
import { RoutingTable } from '../../common/config/routing-table.js';
import { RequireScope } from '../auth/require-scope.decorator.js';
import { Admittance } from '../proxy/admittance.js';
import type { Exchange } from '../proxy/exchange.js';
import { Forwarder } from '../proxy/forwarder.js';
import { openExchange } from '../proxy/open-exchange.js';
import { OpenAiRendering } from './core/openai/open-ai-rendering.js';
import { prepareRequest } from './core/openai/prepare-request.js';
import { earlyRefusal } from './early-refusal.js';
import { ProblemRenderer } from './problem-renderer.js';
import { settled, type Served } from './served.js';

/** The OpenAI dialect: the caller's bytes on to the engine, the engine's bytes back. */
@Controller('v1')
export class OpenAiController {
  constructor(
    private readonly table: RoutingTable,
    private readonly admittance: Admittance,
    private readonly forwarder: Forwarder,
    private readonly problems: ProblemRenderer,
  ) {}

  @Post('chat/completions')
  @RequireScope({ operation: 'chat' })
  chat(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return settled(this.serve('chat', openExchange(request, reply)));
  }

  @Post('completions')
  @RequireScope({ operation: 'completions' })
  completions(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return settled(this.serve('completions', openExchange(request, reply)));
  }

  @Post('embeddings')
  @RequireScope({ operation: 'embeddings' })
  embeddings(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return settled(this.serve('embeddings', openExchange(request, reply)));
  }

  @Post('rerank')
  @RequireScope({ operation: 'rerank' })
  rerank(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return settled(this.serve('rerank', openExchange(request, reply)));
  }

  /** The whole line of a request. */
  serve(operation: Operation, exchange: Exchange): Served {
    exchange.asks('openai', operation);
    const read = exchange.readJson(this.table.operation(operation).maxBodyBytes);
    return read instanceof Promise
      ? read.then((bytes) => settled(this.#forward(operation, exchange, bytes)))
      : this.#forward(operation, exchange, read);
  }

  #forward(operation: Operation, exchange: Exchange, bytes: Buffer): Served {
    const refused = earlyRefusal(this.table, this.admittance, exchange, operation, bytes);
    if (refused !== undefined) return refused;
    const { path, timeouts } = this.table.operation(operation);
    const { request, model, body, terms } = prepareRequest(
      bytes,
      operation,
      this.table,
      exchange.forcedModel,
      exchange.requestId,
    );
    const { upstream, contextLength } = model;
    exchange.routed(model.id, upstream.name);
    const context = this.problems.contextOf(exchange.requestId);
    const rendering = new OpenAiRendering({ ...terms, context, createdSeconds: Math.floor(Date.now() / 1000) });
    const call = { method: 'POST', path, headers: exchange.engineHeaders(), body };
    return this.forwarder.forward({ upstream, timeouts, request, contextLength, call, rendering }, exchange);
  }
}
