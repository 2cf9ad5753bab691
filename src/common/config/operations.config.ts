import type { Operation } from '../canonical/canonical-request.js';
import { Optional, Scalar } from './field.js';
import { Nested } from './nested.js';
import { SizeBytes } from './quantities.js';
import { cleanPath, scope, Text } from './texts.js';
import { TimeoutsConfig } from './timeouts.config.js';

/** What one operation costs and may take, whichever dialect asked for it. */
export class OperationConfig {
  /** The upstream's path. */
  @Scalar(cleanPath)
  readonly path!: string;

  @Nested(() => TimeoutsConfig)
  readonly timeouts!: TimeoutsConfig;

  @SizeBytes()
  readonly maxBodyBytes!: number;

  /** What a token needs; `public`: no token, auth on or off. */
  @Scalar(scope)
  readonly scope!: string;

  /** What the token's groups must hold besides. Absent: nothing. */
  @Optional()
  @Text()
  readonly group?: string;
}

/** The LLM operations: a closed set, so a map. */
export class OperationsConfig implements Readonly<Record<Operation, OperationConfig>> {
  @Nested(() => OperationConfig)
  readonly chat!: OperationConfig;

  @Nested(() => OperationConfig)
  readonly completions!: OperationConfig;

  @Nested(() => OperationConfig)
  readonly embeddings!: OperationConfig;

  @Nested(() => OperationConfig)
  readonly rerank!: OperationConfig;
}
