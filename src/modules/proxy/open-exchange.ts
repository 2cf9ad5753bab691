import type { FastifyReply, FastifyRequest } from 'fastify';
import { exchangeOf, type Exchange } from './exchange.js';

/** The exchange of a request that a handler answers itself: from here on the framework keeps its hands off. */
export function openExchange(request: FastifyRequest, reply: FastifyReply): Exchange {
  reply.hijack();
  return exchangeOf(request.raw);
}
