import { OPERATIONS, type Operation } from '../canonical/canonical-request.js';
import { ListOf, Scalar } from './field.js';
import { Whole } from './quantities.js';
import { modelId, name, oneOf } from './texts.js';

/** A model that callers can ask for. */
export class ModelConfig {
  @Scalar(modelId)
  readonly id!: string;

  /** The name of the upstream that serves it. */
  @Scalar(name)
  readonly upstream!: string;

  @ListOf(oneOf(OPERATIONS), { min: 1 })
  readonly operations!: readonly Operation[];

  /** Tokens of prompt and answer together. */
  @Whole(1)
  readonly contextLength!: number;
}
