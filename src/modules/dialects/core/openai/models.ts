import { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import type { WholeResponse } from '../../../../common/rendering.js';

/** What the list says about a configured model. */
export interface ListedModel {
  readonly id: string;
  /** Tokens of prompt and answer together. */
  readonly contextLength: number;
}

/** One entry of `GET /v1/models`, and the whole answer of `GET /v1/models/{id}`. */
export interface ModelEntry {
  readonly id: string;
  readonly object: 'model';
  readonly created: number;
  readonly owned_by: string;
  readonly display_name: string;
  readonly max_model_len: number;
}

/** `createdSeconds`: the same for every model, since a configuration does not date them; Unix time. */
export function modelEntry(model: ListedModel, createdSeconds: number): ModelEntry {
  return {
    id: model.id,
    object: 'model',
    created: createdSeconds,
    owned_by: 'gateway',
    display_name: model.id,
    max_model_len: model.contextLength,
  };
}

/** `GET /v1/models`. */
export function renderModelList(models: readonly ListedModel[], createdSeconds: number): WholeResponse {
  return json({ object: 'list', data: models.map((model) => modelEntry(model, createdSeconds)) });
}

/** `GET /v1/models/{id}`: `id` as it was asked for, decoded. Throws `model-not-found`. */
export function renderModel(models: readonly ListedModel[], id: string, createdSeconds: number): WholeResponse {
  const model = models.find((candidate) => candidate.id === id);
  if (model !== undefined) return json(modelEntry(model, createdSeconds));
  throw new GatewayProblem('model-not-found', {
    detail: 'There is no model of that name here, or none that you may call: valid_models holds those there are.',
    param: 'model',
    extensions: { valid_models: models.map((candidate) => candidate.id) },
  });
}

function json(value: unknown): WholeResponse {
  return {
    status: 200,
    headers: ['content-type', 'application/json; charset=utf-8'],
    body: Buffer.from(JSON.stringify(value)),
  };
}
