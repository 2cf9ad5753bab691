import type { Operation } from '../../common/canonical/canonical-request.js';
import type { RoutingTable } from '../../common/config/routing-table.js';
import type { GatewayProblem } from '../../common/problem/gateway-problem.js';
import type { Admittance } from '../proxy/admittance.js';
import type { Exchange } from '../proxy/exchange.js';
import { leadingModel } from './core/scan-request.js';

/**
 * The problem of a request whose line is full, by its model alone: whoever is overrun reads no more of a body than it
 * must, be it right or wrong. undefined: it has to be read whole. Throws a GatewayProblem for what is no JSON.
 */
export function earlyRefusal(
  table: RoutingTable,
  admittance: Admittance,
  exchange: Exchange,
  operation: Operation,
  body: Buffer,
): GatewayProblem | undefined {
  if (!admittance.turnsSomeAway) return undefined;
  const id = exchange.forcedModel ?? leadingModel(body);
  const model = id === undefined ? undefined : table.model(id);
  if (model?.operations.has(operation) !== true) return undefined;
  const problem = admittance.turnsAway(model.upstream.name, exchange.caller);
  if (problem === undefined) return undefined;
  exchange.routed(model.id, model.upstream.name);
  exchange.asksForPlace();
  return problem;
}
