import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RequestRecord } from '../../common/request-record.js';
import { ClientGone } from './client-gone.js';
import { exchangeOf, type Exchange } from './exchange.js';

/**
 * The exchange of a request that a handler answers itself: from here on the framework keeps its hands off. Throws
 * ClientGone where nobody waits for an answer any more.
 */
export function openExchange(request: FastifyRequest, reply: FastifyReply): Exchange {
  reply.hijack();
  const exchange = exchangeOf(request.raw);
  nameRoute(exchange.record, request);
  if (exchange.over) throw new ClientGone();
  return exchange;
}

/** An alias has named its route already; the catch-all's is named after the prefix that is found. */
export function nameRoute(record: RequestRecord, { routeOptions }: Pick<FastifyRequest, 'routeOptions'>): void {
  if (record.route === 'none') record.route = namedRoute(routeOptions.url);
}

const namedRoute = (url: string | undefined): string =>
  url === undefined || url.endsWith('*') ? wildcardRoute(url) : url;

const wildcardRoute = (url: string | undefined): string =>
  url === undefined || url.length < 3 ? 'none' : `${url.slice(0, -1)}{id}`;
