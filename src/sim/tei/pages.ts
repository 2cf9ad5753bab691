import type { EngineProfile } from '../core/profiles.js';
import type { VirtualEngine } from '../core/virtual-engine.js';
import { PrometheusText } from '../wire/prometheus-text.js';

/** What a TEI server serves, and how much of it. */
export interface TeiLimits {
  readonly model: string;
  readonly kind: 'embedding' | 'reranker';
  /** Texts in work and in the queue together; one more is answered 429. Absent: 512. */
  readonly maxConcurrentRequests?: number;
  /** Texts in one request; absent: 32. */
  readonly maxClientBatchSize?: number;
  /** Tokens of one text; longer ones are cut. Absent: 512. */
  readonly maxInputLength?: number;
}

export const NO_TEI_COUNTS = {
  single: 0,
  batch: 0,
  successSingle: 0,
  successBatch: 0,
  overloaded: 0,
  validation: 0,
  backend: 0,
};
export type TeiCounts = typeof NO_TEI_COUNTS;

const modelType = (kind: TeiLimits['kind']): object =>
  kind === 'embedding'
    ? { embedding: { pooling: 'mean' } }
    : { reranker: { id2label: { '0': 'LABEL_0' }, label2id: { LABEL_0: 0 } } };

/** The answer of `/info`. */
export function teiInfo(limits: TeiLimits, profile: EngineProfile): object {
  const { model, kind, maxConcurrentRequests = 512, maxInputLength = 512, maxClientBatchSize = 32 } = limits;
  return {
    model_id: model,
    model_sha: null,
    model_dtype: 'float16',
    model_type: modelType(kind),
    max_concurrent_requests: maxConcurrentRequests,
    max_input_length: maxInputLength,
    max_batch_tokens: profile.stepTokens,
    max_batch_requests: null,
    max_client_batch_size: maxClientBatchSize,
    auto_truncate: true,
    tokenization_workers: 2,
    version: '1.8.2',
    sha: null,
    docker_label: null,
  };
}

/** The metrics page. */
export function teiMetrics(counts: TeiCounts, engine: VirtualEngine): string {
  return new PrometheusText('plain')
    .family('te_queue_size', 'gauge', 'Current queue size')
    .sample('te_queue_size', {}, engine.gauges().waiting)
    .family('te_request_count', 'counter', 'Total number of requests')
    .sample('te_request_count', { method: 'single' }, counts.single)
    .sample('te_request_count', { method: 'batch' }, counts.batch)
    .family('te_request_success', 'counter', 'Number of successful requests')
    .sample('te_request_success', { method: 'single' }, counts.successSingle)
    .sample('te_request_success', { method: 'batch' }, counts.successBatch)
    .family('te_request_failure', 'counter', 'Number of failed requests')
    .sample('te_request_failure', { err: 'overloaded' }, counts.overloaded)
    .sample('te_request_failure', { err: 'validation' }, counts.validation)
    .sample('te_request_failure', { err: 'backend' }, counts.backend)
    .family('te_batch_next_tokens', 'histogram', 'Number of tokens in the next batch')
    .histogram('te_batch_next_tokens', {}, engine.core.stepTokens)
    .toString();
}
