import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RoutingTable } from '../../common/config/routing-table.js';
import { RequireScope } from '../auth/require-scope.decorator.js';
import { openExchange } from '../proxy/open-exchange.js';
import { idFromPath } from './core/id-from-path.js';
import { renderModel, renderModelList } from './core/openai/models.js';

/** Nothing dates a configured model; the start of the gateway that serves it does as well as any other day. */
const STARTED_SECONDS = Math.floor(Date.now() / 1000);

/** The models as OpenAI lists them, from the table that routes. */
@Controller('v1/models')
@RequireScope({ anyToken: true })
export class ModelsController {
  constructor(private readonly table: RoutingTable) {}

  @Get()
  list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    openExchange(request, reply).sendWhole(renderModelList(this.table.models, STARTED_SECONDS));
  }

  @Get('*')
  one(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const id = idFromPath(request.raw.url ?? '', '/v1/models/');
    openExchange(request, reply).sendWhole(renderModel(this.table.models, id ?? '', STARTED_SECONDS));
  }
}
