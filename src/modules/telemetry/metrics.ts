import type { Registry } from 'prom-client';
import { reasonOf } from '../../common/problem/problems.js';
import type { Phase, RequestRecord } from '../../common/request-record.js';
import { LabelTree, type Labels } from './core/label-tree.js';
import {
  CounterTally,
  HistogramTally,
  LiveMetric,
  registerTally,
  type CounterCell,
  type HistogramCell,
  type LiveValue,
} from './tallies.js';

/** Seconds, from a rejection to an hour of generation. */
const DURATION_BUCKETS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];
const WAIT_BUCKETS = [0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const OVERHEAD_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1];
const RATE_BUCKETS = [1, 2.5, 5, 10, 20, 40, 80, 160, 320];

/** Name, help, labels and, of a histogram, its bounds. */
const REQUESTS = [
  'http_requests_total',
  'Answered requests; 499: the client left',
  ['route', 'upstream', 'method', 'status'],
] as const;
const REJECTED = ['http_rejected_total', "Answers that are the gateway's own problem", ['route', 'reason']] as const;
const DURATION = [
  'http_request_duration_seconds',
  'Arrival to last byte out',
  ['route', 'upstream'],
  DURATION_BUCKETS,
] as const;
const REQUEST_BYTES = ['http_request_bytes_total', 'Bytes of request bodies', ['route', 'upstream']] as const;
const RESPONSE_BYTES = ['http_response_bytes_total', 'Bytes of response bodies', ['route', 'upstream']] as const;
const OVERHEAD = ['gateway_overhead_seconds', 'Time in the gateway itself', ['route'], OVERHEAD_BUCKETS] as const;
const UPSTREAM_REQUESTS = [
  'upstream_requests_total',
  'Calls of upstreams by outcome',
  ['upstream', 'outcome'],
] as const;
const WAIT = ['admission_wait_seconds', 'Wait of those admitted', ['upstream', 'band'], WAIT_BUCKETS] as const;
const PARKED = ['admission_parked_total', 'Requests that had to wait', ['upstream', 'band']] as const;
const ADMISSION_REJECTED = [
  'admission_rejected_total',
  'Requests that got no slot',
  ['upstream', 'band', 'reason'],
] as const;
const TTFT = [
  'llm_ttft_seconds',
  'Arrival to first content',
  ['upstream', 'model', 'dialect'],
  DURATION_BUCKETS,
] as const;
const OUTPUT_RATE = [
  'llm_output_tokens_per_second',
  'Output tokens a second',
  ['upstream', 'model'],
  RATE_BUCKETS,
] as const;
const TOKENS = ['llm_tokens_total', "Tokens by the engine's count", ['upstream', 'model', 'kind']] as const;
const DISCONNECTS = ['client_disconnects_total', 'Clients that left early', ['route', 'phase']] as const;
const HEARTBEATS = ['stream_heartbeats_total', 'Heartbeats to silent streams', ['upstream', 'dialect']] as const;

const ESTIMATE_RATIO = [
  'admission_estimate_ratio',
  'Estimated to true prompt tokens',
  ['upstream', 'model'],
  [0.25, 0.5, 0.7, 0.85, 0.95, 1.05, 1.2, 1.5, 2, 4],
] as const;

const LEFT_IN: Record<Phase, string> = {
  head: 'upload',
  upload: 'upload',
  queued: 'queued',
  waiting: 'head',
  streaming: 'stream',
  done: 'stream',
};

/** The status under which a request is counted: a client that left without an answer is 499. */
export const countedStatus = (record: RequestRecord): number => (record.status === 0 ? 499 : record.status);

/** The cells of everything that is counted at a request's end, for one combination of its labels. */
interface RequestCells {
  readonly requests: CounterCell;
  readonly duration: HistogramCell;
  readonly requestBytes: CounterCell;
  readonly responseBytes: CounterCell;
  readonly overhead: HistogramCell;
}

interface TokenCells {
  readonly prompt: CounterCell;
  readonly cached: CounterCell;
  readonly completion: CounterCell;
  readonly reasoning: CounterCell;
}

/** Every series and label of the gateway, filled from closed records and read from the slots. */
export class Metrics {
  readonly #tokenCells = new LabelTree<TokenCells>();
  /** By route, upstream, method and status: all of them come from closed sets. */
  readonly #cells = new LabelTree<RequestCells>();
  readonly #requests;
  readonly #rejected;
  readonly #duration;
  readonly #requestBytes;
  readonly #responseBytes;
  readonly #overhead;
  readonly #upstreamRequests;
  readonly #upstreamUp;
  readonly #wait;
  readonly #parked;
  readonly #admissionRejected;
  readonly #ttft;
  readonly #outputRate;
  readonly #tokens;
  readonly #disconnects;
  readonly #heartbeats;
  readonly #estimateRatio;

  constructor(registry: Registry) {
    const counter = (...of: ConstructorParameters<typeof CounterTally>): CounterTally =>
      registerTally(registry, new CounterTally(...of));
    const histogram = (...of: ConstructorParameters<typeof HistogramTally>): HistogramTally =>
      registerTally(registry, new HistogramTally(...of));
    this.#requests = counter(...REQUESTS);
    this.#rejected = counter(...REJECTED);
    this.#duration = histogram(...DURATION);
    this.#requestBytes = counter(...REQUEST_BYTES);
    this.#responseBytes = counter(...RESPONSE_BYTES);
    this.#overhead = histogram(...OVERHEAD);
    this.#upstreamRequests = counter(...UPSTREAM_REQUESTS);
    this.#wait = histogram(...WAIT);
    this.#parked = counter(...PARKED);
    this.#admissionRejected = counter(...ADMISSION_REJECTED);
    this.#ttft = histogram(...TTFT);
    this.#outputRate = histogram(...OUTPUT_RATE);
    this.#tokens = counter(...TOKENS);
    this.#estimateRatio = histogram(...ESTIMATE_RATIO);
    this.#disconnects = counter(...DISCONNECTS);
    this.#heartbeats = counter(...HEARTBEATS);
    this.#upstreamUp = new Map<string, boolean>();
    const up = (): LiveValue[] =>
      [...this.#upstreamUp].map(([upstream, works]) => ({ labels: { upstream }, value: works ? 1 : 0 }));
    registerTally(registry, new LiveMetric('upstream_up', '1 while the last request worked', 'gauge', up));
  }

  /** Counts one request, whatever became of it. */
  count(record: RequestRecord): void {
    const { route } = record;
    const cells = this.#cellsOf(record);
    cells.requests.add(1);
    cells.duration.observe((record.endedAt - record.arrivedAt) / 1000);
    cells.requestBytes.add(record.requestBytes);
    cells.responseBytes.add(record.responseBytes);
    if (record.problem !== undefined) this.#rejected.cell(route, reasonOf(record.problem)).add(1);
    if (record.clientGone) this.#disconnects.cell(route, LEFT_IN[record.phase]).add(1);
    this.#countUpstream(record, cells);
    this.#countAdmission(record);
    this.#countTokens(record);
    if (record.heartbeats > 0) this.#heartbeats.cell(record.upstream, record.dialect ?? 'none').add(record.heartbeats);
  }

  #cellsOf(record: RequestRecord): RequestCells {
    const { route, upstream, method } = record;
    return this.#cells.get([route, upstream, method, String(countedStatus(record))], this.#newCells);
  }

  readonly #newCells = ([route = '', upstream = '', method = '', status = '']: Labels): RequestCells => ({
    requests: this.#requests.cell(route, upstream, method, status),
    duration: this.#duration.cell(route, upstream),
    requestBytes: this.#requestBytes.cell(route, upstream),
    responseBytes: this.#responseBytes.cell(route, upstream),
    overhead: this.#overhead.cell(route),
  });

  readonly #newTokenCells = ([upstream = '', model = '']: Labels): TokenCells => ({
    prompt: this.#tokens.cell(upstream, model, 'prompt'),
    cached: this.#tokens.cell(upstream, model, 'cached'),
    completion: this.#tokens.cell(upstream, model, 'completion'),
    reasoning: this.#tokens.cell(upstream, model, 'reasoning'),
  });

  #countUpstream(record: RequestRecord, cells: RequestCells): void {
    const { upstreamOutcome: outcome, upstream, dispatchedAt, upstreamEndedAt } = record;
    if (outcome !== undefined) {
      this.#upstreamRequests.cell(upstream, outcome).add(1);
      if (outcome !== 'cancelled') this.#upstreamUp.set(upstream, isUp(outcome));
    }
    if (dispatchedAt === undefined || upstreamEndedAt === undefined) return;
    const own = record.endedAt - record.arrivedAt - record.queuedMs - (upstreamEndedAt - dispatchedAt);
    cells.overhead.observe(Math.max(0, own) / 1000);
  }

  #countAdmission(record: RequestRecord): void {
    const { upstream, problem } = record;
    const band = record.principal?.band;
    if (band === undefined) return;
    if (record.parked) this.#parked.cell(upstream, band).add(1);
    if (record.dispatchedAt !== undefined) this.#wait.cell(upstream, band).observe(record.queuedMs / 1000);
    else if (record.phase === 'queued') {
      const reason = record.clientGone ? 'cancelled' : problem === undefined ? undefined : reasonOf(problem);
      if (reason !== undefined) this.#admissionRejected.cell(upstream, band, reason).add(1);
    }
  }

  #countTokens(record: RequestRecord): void {
    const { model, upstream, dialect, usage } = record;
    if (model === undefined || dialect === undefined) return;
    if (record.firstContentAt !== undefined) {
      this.#ttft.cell(upstream, model, dialect).observe((record.firstContentAt - record.arrivedAt) / 1000);
    }
    if (usage === undefined) return;
    if (record.estimatedPromptTokens !== undefined && usage.promptTokens > 0) {
      this.#estimateRatio.cell(upstream, model).observe(record.estimatedPromptTokens / usage.promptTokens);
    }
    const tokens = this.#tokenCells.get([upstream, model], this.#newTokenCells);
    tokens.prompt.add(usage.promptTokens);
    tokens.cached.add(usage.cachedTokens);
    tokens.completion.add(usage.completionTokens);
    tokens.reasoning.add(usage.reasoningTokens);
    if (record.firstContentAt === undefined || record.upstreamEndedAt === undefined) return;
    const seconds = (record.upstreamEndedAt - record.firstContentAt) / 1000;
    if (seconds > 0) this.#outputRate.cell(upstream, model).observe(usage.completionTokens / seconds);
  }
}

const isUp = (outcome: string): boolean => outcome === 'ok' || outcome === 'client_error';
