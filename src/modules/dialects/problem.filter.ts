import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayProblem, problemFrom } from '../../common/problem/gateway-problem.js';
import { ClientGone } from '../proxy/client-gone.js';
import { exchangeOf, type Exchange } from '../proxy/exchange.js';
import { nameRoute } from '../proxy/open-exchange.js';
import { ProblemRenderer } from './problem-renderer.js';

/** Any error, answered in the route's dialect. Whoever left gets no answer. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly renderer: ProblemRenderer) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const reply = http.getResponse<FastifyReply>();
    reply.hijack();
    const request = http.getRequest<FastifyRequest>();
    const exchange = exchangeOf(request.raw);
    // Whom the guard turns away has reached no handler yet.
    nameRoute(exchange.record, request);
    this.answer(error, exchange);
  }

  /** Answers what has gone wrong with an exchange, however it got here. */
  answer(error: unknown, exchange: Exchange): void {
    if (error instanceof ClientGone) return;
    const problem = problemOf(error);
    const { record } = exchange;
    // What its client has been told already stands, be the rest as wrong; a fault of our own is in the log in any case.
    if (record.problem !== undefined && problem.code !== 'internal') return;
    record.problem = problem.code;
    record.cause = problem.options.cause;
    exchange.fail(problem, () => this.renderer.render(problem, exchange.requestId, exchange.request.url));
  }
}

/** The framework's own errors in our words: it refuses media types and targets before a handler can. */
function problemOf(error: unknown): GatewayProblem {
  const status = error instanceof HttpException ? error.getStatus() : statusOf(error);
  switch (status) {
    case 400:
      return new GatewayProblem('invalid-request-head', {
        detail: 'The request is not valid HTTP.',
        cause: error,
        closeConnection: true,
      });
    case 404:
      return new GatewayProblem('not-found', { detail: 'There is nothing at this path.' });
    case 415:
      return new GatewayProblem('unsupported-media-type', {
        detail: 'The body must be sent with Content-Type: application/json, in UTF-8.',
        closeConnection: true,
      });
    default:
      return problemFrom(error);
  }
}

const statusOf = (error: unknown): number | undefined => {
  if (error instanceof GatewayProblem || typeof error !== 'object' || error === null) return undefined;
  return 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : undefined;
};
