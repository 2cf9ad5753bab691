import { Controller, Get, HttpException, Req, Res } from '@nestjs/common';
import { HealthCheck, HealthCheckService, type HealthCheckResult } from '@nestjs/terminus';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayProblem } from '../../common/problem/gateway-problem.js';
import { RequireScope } from '../auth/require-scope.decorator.js';
import { openExchange } from '../proxy/open-exchange.js';
import { DrainIndicator } from './drain.indicator.js';
import { JwksIndicator } from './jwks.indicator.js';

/** Whether the process lives, and whether traffic may come. No upstream is asked: one that is down leaves others up. */
@Controller()
@RequireScope({ public: true })
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly drain: DrainIndicator,
    private readonly jwks: JwksIndicator,
  ) {}

  @Get('healthz')
  live(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    openExchange(request, reply).sendJson({ status: 'ok' });
  }

  @Get('readyz')
  @HealthCheck({ noCache: false })
  async ready(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const result = await this.health.check([() => this.drain.check(), () => this.jwks.check()]).catch(notReady);
    openExchange(request, reply).sendJson({ status: 'ready', checks: Object.keys(result.details) });
  }
}

function notReady(error: unknown): never {
  if (!(error instanceof HttpException)) throw error;
  const result = error.getResponse() as HealthCheckResult;
  const failed = Object.keys(result.error ?? {});
  throw new GatewayProblem('not-ready', {
    detail: `Not ready: ${failed.join(', ')}. The gateway takes no new traffic (overloaded).`,
    extensions: { failed },
  });
}
