import type { CanonicalRequest } from '../../../../common/canonical/canonical-request.js';
import type { Model, RoutingTable } from '../../../../common/config/routing-table.js';
import { chatRequest } from '../chat-request.js';
import { findModel } from '../find-model.js';
import { promptSize } from '../prompt-size.js';
import { scanBody } from '../scan-request.js';
import { parseHead, parseResponses } from './parse-request.js';
import { settingsOf } from './response-settings.js';

/** A request that has been understood: what it means, and what the engine is sent. */
export interface PreparedResponse {
  readonly request: CanonicalRequest;
  readonly model: Model;
  readonly body: Buffer;
  /** The engine speaks the dialect itself: the body is the caller's. */
  readonly native: boolean;
  /** What the answer repeats of it; empty where the engine does that. */
  readonly settings: string;
}

/**
 * Reads a Responses request. It is translated, unless its model's engine speaks the dialect. Throws a GatewayProblem that
 * names the fault.
 */
export function prepareResponse(bytes: Buffer, table: RoutingTable): PreparedResponse {
  const scan = scanBody(bytes);
  const head = parseHead(scan);
  const model = findModel(scan, 'chat', table, undefined);
  const { engine, dialects = [] } = model.upstream;
  const native = dialects.includes('responses');
  const body = native ? bytes : chatRequest(parseResponses(scan, head, model.id), engine);
  const size = promptSize(body);
  const request: CanonicalRequest = {
    operation: 'chat',
    model: model.id,
    stream: head.stream,
    maxOutputTokens: head.maxTokens,
    choices: 1,
    promptBytes: size.textBytes,
    images: size.images,
  };
  return { request, model, body, native, settings: native ? '' : settingsOf(head.tree) };
}
