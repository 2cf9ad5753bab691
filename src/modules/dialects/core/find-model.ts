import type { Operation } from '../../../common/canonical/canonical-request.js';
import type { Model, RoutingTable } from '../../../common/config/routing-table.js';
import { GatewayProblem } from '../../../common/problem/gateway-problem.js';
import { requireModel, unknownModel } from './request-model.js';
import type { ScannedBody } from './scan-request.js';

/** The configured model that the body asks for, or that the path forces. Throws a GatewayProblem that lists the others. */
export function findModel(
  scan: ScannedBody,
  operation: Operation,
  table: RoutingTable,
  forcedModel: string | undefined,
): Model {
  const valid = table.modelsFor(operation);
  const id = forcedModel ?? requireModel(scan, valid, (name) => table.model(name) !== undefined);
  const model = table.model(id);
  if (model === undefined) throw unknownModel(id, valid);
  if (model.operations.has(operation)) return model;
  throw new GatewayProblem('unsupported-operation', {
    detail: `The model ${JSON.stringify(id)} does not do ${operation}.`,
    param: 'model',
    extensions: { valid_models: valid },
  });
}
