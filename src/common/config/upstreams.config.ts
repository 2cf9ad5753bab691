import { originUrl } from './addresses.js';
import { ListOf, Optional, Scalar } from './field.js';
import { Nested } from './nested.js';
import { DurationMs, PositiveNumber, Whole } from './quantities.js';
import { cleanPath, name, OneOf, oneOf, Text } from './texts.js';

/** What a backend is, and so which gauges and extras it speaks. */
export const ENGINE_KINDS = ['vllm', 'sglang', 'llamacpp', 'ollama', 'tei', 'openai', 'http'] as const;
export type EngineKind = (typeof ENGINE_KINDS)[number];

/** Dialects that an engine may speak itself, besides chat completions. */
export const OWN_DIALECTS = ['anthropic', 'responses'] as const;
export type OwnDialect = (typeof OWN_DIALECTS)[number];

/** How many requests an upstream runs at once. */
export class SlotsConfig {
  /** In flight to the upstream, all endpoints and dialects together. */
  @Whole(1)
  readonly limit!: number;

  /** What one of its endpoints runs at once. */
  @Whole(1)
  readonly perEndpoint!: number;
}

/** Admission on the engine's own gauges. */
export class ObserveConfig {
  @Scalar(cleanPath)
  readonly path!: string;

  @DurationMs()
  readonly intervalMs!: number;

  @DurationMs()
  readonly timeoutMs!: number;

  /** Failed polls in a row after which the gauges no longer count. */
  @Whole(1)
  readonly staleAfter!: number;

  /** A share of the KV cache, above 0 and at most 1. */
  @PositiveNumber({ max: 1 })
  readonly kvCeiling!: number;

  /** Requests running and waiting on one endpoint from which on it is held. */
  @Whole(1)
  readonly maxInflight!: number;

  @DurationMs()
  readonly maxParkMs!: number;
}

/** A backend, by name. */
export class UpstreamConfig {
  @Scalar(name)
  readonly name!: string;

  /** Scheme, host and port; the paths are those of the operations and prefixes. */
  @Scalar(originUrl)
  readonly url!: string;

  /** single: the url as it is. dns: every address behind its name is an endpoint. */
  @OneOf(['single', 'dns'])
  readonly discover!: 'single' | 'dns';

  @OneOf(ENGINE_KINDS)
  readonly engine!: EngineKind;

  /** Sockets to it at most. */
  @Whole(1)
  readonly connections!: number;

  /** Holds what is sent as Bearer. Absent: no credential. */
  @Optional()
  @Text()
  readonly credentialFile?: string;

  /** Dialects whose requests go through untouched. Absent: chat completions only. */
  @Optional()
  @ListOf(oneOf(OWN_DIALECTS), { min: 1 })
  readonly dialects?: readonly OwnDialect[];

  @Nested(() => SlotsConfig)
  readonly slots!: SlotsConfig;

  /** Absent: slots alone gate it. */
  @Optional()
  @Nested(() => ObserveConfig)
  readonly observe?: ObserveConfig;
}
