import { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import type { WholeResponse } from '../../../../common/rendering.js';

/** What the list says about a configured model. */
export interface ListedModel {
  readonly id: string;
  /** Tokens of prompt and answer together. */
  readonly contextLength: number;
}

/** Nothing dates a configured model, and for that the dialect has the epoch. */
const UNDATED = '1970-01-01T00:00:00Z';

function modelEntry({ id, contextLength }: ListedModel): Record<string, unknown> {
  return {
    type: 'model',
    id,
    display_name: id,
    created_at: UNDATED,
    lifecycle: 'active',
    deprecated_at: null,
    retires_at: null,
    line: null,
    capabilities: null,
    max_input_tokens: contextLength,
    max_tokens: contextLength,
  };
}

/** `GET /llm/v1/models`: all of them on one page. */
export function renderModelList(models: readonly ListedModel[]): WholeResponse {
  return json({
    data: models.map(modelEntry),
    has_more: false,
    first_id: models[0]?.id ?? null,
    last_id: models.at(-1)?.id ?? null,
  });
}

/** `GET /llm/v1/models/{id}`: `id` as it was asked for, decoded. Throws `model-not-found`. */
export function renderModel(models: readonly ListedModel[], id: string): WholeResponse {
  const model = models.find((candidate) => candidate.id === id);
  if (model !== undefined) return json(modelEntry(model));
  throw new GatewayProblem('model-not-found', {
    detail: 'There is no model of that name here, or none that you may call: valid_models holds those there are.',
    param: 'model',
    extensions: { valid_models: models.map((candidate) => candidate.id) },
  });
}

function json(value: unknown): WholeResponse {
  return { status: 200, headers: ['content-type', 'application/json'], body: Buffer.from(JSON.stringify(value)) };
}
