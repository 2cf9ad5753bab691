import type { FastifyReply, FastifyRequest } from 'fastify';
import { exchangeOf, type Exchange } from './exchange.js';

/** The exchange of a request that a handler answers itself: from here on the framework keeps its hands off. */
export function openExchange(request: FastifyRequest, reply: FastifyReply): Exchange {
  reply.hijack();
  const exchange = exchangeOf(request.raw);
  const { record } = exchange;
  // An alias has named its route already; the catch-all names the prefix that it finds.
  if (record.route === 'none') record.route = namedRoute(request.routeOptions.url);
  return exchange;
}

const namedRoute = (url: string | undefined): string =>
  url === undefined || url.endsWith('*') ? wildcardRoute(url) : url;

const wildcardRoute = (url: string | undefined): string =>
  url === undefined || url.length < 3 ? 'none' : `${url.slice(0, -1)}{id}`;
