import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AccessTable } from '../../common/config/access-table.js';
import { type Model, RoutingTable } from '../../common/config/routing-table.js';
import { RequireScope } from '../auth/require-scope.decorator.js';
import { lackOf } from '../auth/rights.js';
import type { Exchange } from '../proxy/exchange.js';
import { openExchange } from '../proxy/open-exchange.js';
import { idFromPath } from './core/id-from-path.js';
import { renderModel, renderModelList } from './core/openai/models.js';

/** Nothing dates a configured model; the start of the gateway that serves it does as well as any other day. */
const STARTED_SECONDS = Math.floor(Date.now() / 1000);

/** The models as OpenAI lists them, from the table that routes. */
@Controller('v1/models')
@RequireScope({ anyToken: true })
export class ModelsController {
  constructor(
    private readonly table: RoutingTable,
    private readonly access: AccessTable,
  ) {}

  @Get()
  list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const exchange = openExchange(request, reply);
    exchange.sendWhole(renderModelList(this.#modelsFor(exchange), STARTED_SECONDS));
  }

  @Get('*')
  one(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const id = idFromPath(request.raw.url ?? '', '/v1/models/');
    const exchange = openExchange(request, reply);
    exchange.sendWhole(renderModel(this.#modelsFor(exchange), id ?? '', STARTED_SECONDS));
  }

  /** Those of which the caller may call at least one operation. */
  #modelsFor({ caller }: Exchange): readonly Model[] {
    return this.table.models.filter(({ operations }) =>
      [...operations].some((operation) => lackOf(caller, this.access.operation(operation)) === undefined),
    );
  }
}
