import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AccessTable } from '../../common/config/access-table.js';
import { RoutingTable } from '../../common/config/routing-table.js';
import { RequireScope } from '../auth/require-scope.decorator.js';
import { lackOf } from '../auth/rights.js';
import type { Exchange } from '../proxy/exchange.js';
import { openExchange } from '../proxy/open-exchange.js';
import { renderModel, renderModelList, type ListedModel } from './core/anthropic/models.js';
import { idFromPath } from './core/id-from-path.js';

/** The models that can be talked to in this dialect, as it lists them. */
@Controller('llm/v1/models')
@RequireScope({ anyToken: true, apiKey: true })
export class AnthropicModelsController {
  private readonly models: readonly ListedModel[];

  constructor(
    table: RoutingTable,
    private readonly access: AccessTable,
  ) {
    this.models = table.models.filter(({ operations }) => operations.has('chat'));
  }

  @Get()
  list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const exchange = openExchange(request, reply);
    exchange.sendWhole(renderModelList(this.#modelsFor(exchange)));
  }

  @Get('*')
  one(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const id = idFromPath(request.raw.url ?? '', '/llm/v1/models/');
    const exchange = openExchange(request, reply);
    exchange.sendWhole(renderModel(this.#modelsFor(exchange), id ?? ''));
  }

  /** Those that the caller may talk to. */
  #modelsFor({ caller }: Exchange): readonly ListedModel[] {
    return lackOf(caller, this.access.operation('chat')) === undefined ? this.models : [];
  }
}
