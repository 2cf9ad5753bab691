import type { CanonicalRequest, Operation } from '../../../../common/canonical/canonical-request.js';
import type { Model, RoutingTable } from '../../../../common/config/routing-table.js';
import { giveBackMemory } from '../../../../common/spent-bytes.js';
import { findModel } from '../find-model.js';
import { askForUsage } from './ask-for-usage.js';
import { forceModel } from './force-model.js';
import type { OpenAiRenderingTerms } from './open-ai-rendering.js';
import { promptSize } from '../prompt-size.js';
import { repairRequest } from './repair-request.js';
import { translateRerankRequest } from './rerank-translation.js';
import { canonicalFrom, scanRequest } from '../scan-request.js';
import { spliceBody, type Edit } from './splice-body.js';

/** A request that has been understood: what it means, what the engine is sent, how its answer is to be read. */
export interface PreparedRequest {
  readonly request: CanonicalRequest;
  readonly model: Model;
  readonly body: Uint8Array;
  readonly terms: Omit<OpenAiRenderingTerms, 'context' | 'createdSeconds'>;
}

/**
 * Reads an OpenAI request. The body goes on byte for byte, but for the edits that the engine or an alias needs, all of
 * them made in one splice. Throws a GatewayProblem that names the fault. The body is handed over: where an edited copy
 * goes on, its memory is given back; what restores a ranking still reads it.
 */
export function prepareRequest(
  body: Buffer,
  operation: Operation,
  table: RoutingTable,
  forcedModel: string | undefined,
  requestId: string,
): PreparedRequest {
  const scan = scanRequest(body);
  const model = findModel(scan, operation, table, forcedModel);
  const { engine } = model.upstream;
  const generates = operation === 'chat' || operation === 'completions';
  const usageAdded = generates && scan.stream && !scan.includeUsage;
  const edits = [
    ...(forcedModel === undefined ? [] : forceModel(scan, forcedModel)),
    ...(usageAdded ? askForUsage(scan) : []),
    ...repairRequest(engine, operation, scan),
  ];
  const ranking =
    operation === 'rerank' && engine === 'tei'
      ? translateRerankRequest(scan, model.id, `rerank-${requestId}`)
      : undefined;
  const request = canonicalFrom(scan, operation, model.id, promptSize(body));
  return {
    request,
    model,
    body: ranking?.body ?? edited(body, edits),
    terms: {
      engine,
      operation,
      model: model.id,
      stream: request.stream,
      choices: (operation === 'completions' ? scan.promptCount : 1) * (scan.n ?? 1),
      usageWanted: scan.includeUsage,
      usageAdded,
      vectors: scan.encodingFormat === 'base64' ? 'base64' : 'float',
      ...(ranking === undefined ? {} : { restore: (answer: Buffer) => ranking.restore(answer) }),
    },
  };
}

function edited(body: Buffer, edits: readonly Edit[]): Buffer {
  const copy = spliceBody(body, edits);
  if (copy !== body) giveBackMemory(body);
  return copy;
}
