import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Model, RoutingTable } from '../../common/config/routing-table.js';
import { RequireScope } from '../auth/require-scope.decorator.js';
import { openExchange } from '../proxy/open-exchange.js';
import { renderModel, renderModelList } from './core/anthropic/models.js';
import { idFromPath } from './core/id-from-path.js';

/** The models that can be talked to in this dialect, as it lists them. */
@Controller('llm/v1/models')
@RequireScope({ anyToken: true })
export class AnthropicModelsController {
  private readonly models: readonly Model[];

  constructor(table: RoutingTable) {
    this.models = table.models.filter(({ operations }) => operations.has('chat'));
  }

  @Get()
  list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    openExchange(request, reply).sendWhole(renderModelList(this.models));
  }

  @Get('*')
  one(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const id = idFromPath(request.raw.url ?? '', '/llm/v1/models/');
    openExchange(request, reply).sendWhole(renderModel(this.models, id ?? ''));
  }
}
