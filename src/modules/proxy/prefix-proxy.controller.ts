import { All, Controller, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayProblem } from '../../common/problem/gateway-problem.js';
import { RequireScope } from '../auth/require-scope.decorator.js';
import { pathOf } from './request-head.js';
import { FixedPaths } from './fixed-paths.js';
import { openExchange } from './open-exchange.js';
import { PrefixProxy } from './prefix-proxy.js';

/** Everything that has no route of its own: the configured prefixes, and what is not there. */
@Controller()
export class PrefixProxyController {
  constructor(
    private readonly proxy: PrefixProxy,
    private readonly fixed: FixedPaths,
  ) {}

  @All('*')
  @RequireScope({ prefix: true })
  async serve(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const exchange = openExchange(request, reply);
    const target = request.raw.url ?? '';
    const proxy = this.proxy.find(target);
    if (proxy === undefined) throw this.#absent(pathOf(target));
    exchange.record.route = proxy.prefix;
    await this.proxy.serve(proxy, exchange);
  }

  #absent(path: string): GatewayProblem {
    const methods = this.fixed.methodsOf(path);
    if (methods === undefined) return new GatewayProblem('not-found', { detail: 'There is nothing at this path.' });
    return new GatewayProblem('method-not-allowed', {
      detail: `This path takes ${methods.join(', ')}.`,
      headers: { Allow: methods.join(', ') },
    });
  }
}
