import { OPERATIONS, type Operation } from '../canonical/canonical-request.js';
import { Scalar } from './field.js';
import { cleanPath, modelId, OneOf } from './texts.js';

/** A path that forces its model, whatever the body says. */
export class AliasConfig {
  @Scalar(cleanPath)
  readonly path!: string;

  @OneOf(OPERATIONS)
  readonly operation!: Operation;

  /** The id of a configured model. */
  @Scalar(modelId)
  readonly model!: string;
}
