import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { reasonOf } from '../../common/problem/problems.js';
import type { Phase, RequestRecord } from '../../common/request-record.js';
import type { UpstreamSnapshot } from '../admission/slot-controller.js';

/** Seconds, from a rejection to an hour of generation. */
const DURATION_BUCKETS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];
const WAIT_BUCKETS = [0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const OVERHEAD_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1];
const RATE_BUCKETS = [1, 2.5, 5, 10, 20, 40, 80, 160, 320];

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

/** Every series and label of the gateway, filled from closed records and read from the slots. */
export class Metrics {
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

  constructor(registry: Registry) {
    const registers = [registry];
    const counter = (name: string, help: string, labelNames: string[]): Counter => new Counter({ name, help, labelNames, registers });
    const histogram = (name: string, help: string, labelNames: string[], buckets: number[]): Histogram =>
      new Histogram({ name, help, labelNames, buckets, registers });
    this.#requests = counter('http_requests_total', 'Answered requests; 499: the client left', ['route', 'upstream', 'method', 'status']);
    this.#rejected = counter('http_rejected_total', "Answers that are the gateway's own problem", ['route', 'reason']);
    this.#duration = histogram('http_request_duration_seconds', 'Arrival to last byte out', ['route', 'upstream'], DURATION_BUCKETS);
    this.#requestBytes = counter('http_request_bytes_total', 'Bytes of request bodies', ['route', 'upstream']);
    this.#responseBytes = counter('http_response_bytes_total', 'Bytes of response bodies', ['route', 'upstream']);
    this.#overhead = histogram('gateway_overhead_seconds', 'Time in the gateway itself', ['route'], OVERHEAD_BUCKETS);
    this.#upstreamRequests = counter('upstream_requests_total', 'Calls of upstreams by outcome', ['upstream', 'outcome']);
    this.#upstreamUp = new Gauge({ name: 'upstream_up', help: '1 while the last request worked', labelNames: ['upstream'], registers });
    this.#wait = histogram('admission_wait_seconds', 'Wait of those admitted', ['upstream', 'band'], WAIT_BUCKETS);
    this.#parked = counter('admission_parked_total', 'Requests that had to wait', ['upstream', 'band']);
    this.#admissionRejected = counter('admission_rejected_total', 'Requests that got no slot', ['upstream', 'band', 'reason']);
    this.#ttft = histogram('llm_ttft_seconds', 'Arrival to first content', ['upstream', 'model', 'dialect'], DURATION_BUCKETS);
    this.#outputRate = histogram('llm_output_tokens_per_second', 'Output tokens a second', ['upstream', 'model'], RATE_BUCKETS);
    this.#tokens = counter('llm_tokens_total', "Tokens by the engine's count", ['upstream', 'model', 'kind']);
    this.#disconnects = counter('client_disconnects_total', 'Clients that left early', ['route', 'phase']);
  }

  /** Shows the slots and queues as they are when somebody reads. */
  watchSlots(registry: Registry, read: () => readonly UpstreamSnapshot[]): void {
    const registers = [registry];
    const gauge = (name: string, help: string, value: (one: UpstreamSnapshot) => number): Gauge =>
      new Gauge({
        name,
        help,
        labelNames: ['upstream'],
        registers,
        collect() {
          for (const one of read()) this.set({ upstream: one.upstream }, value(one));
        },
      });
    gauge('upstream_in_flight', 'Requests at the upstream from this gateway', (one) => one.inUse);
    gauge('slots_in_use', 'Slots taken', (one) => one.inUse);
    gauge('slots_limit', 'Slots there are', (one) => one.limit);
    new Gauge({
      name: 'admission_queue_depth',
      help: 'Requests that wait',
      labelNames: ['upstream', 'band'],
      registers,
      collect() {
        for (const one of read()) for (const { band, depth } of one.waiting) this.set({ upstream: one.upstream, band }, depth);
      },
    });
  }

  /** Counts one request, whatever became of it. */
  count(record: RequestRecord): void {
    const { route, upstream } = record;
    const status = countedStatus(record);
    this.#requests.labels(route, upstream, record.method, String(status)).inc();
    this.#duration.labels(route, upstream).observe((record.endedAt - record.arrivedAt) / 1000);
    if (record.requestBytes > 0) this.#requestBytes.labels(route, upstream).inc(record.requestBytes);
    if (record.responseBytes > 0) this.#responseBytes.labels(route, upstream).inc(record.responseBytes);
    if (record.problem !== undefined) this.#rejected.labels(route, reasonOf(record.problem)).inc();
    if (record.clientGone) this.#disconnects.labels(route, LEFT_IN[record.phase]).inc();
    this.#countUpstream(record);
    this.#countAdmission(record);
    this.#countTokens(record);
  }

  #countUpstream(record: RequestRecord): void {
    const { upstreamOutcome: outcome, upstream, dispatchedAt, upstreamEndedAt } = record;
    if (outcome !== undefined) {
      this.#upstreamRequests.labels(upstream, outcome).inc();
      if (outcome !== 'cancelled') this.#upstreamUp.labels(upstream).set(isUp(outcome) ? 1 : 0);
    }
    if (dispatchedAt === undefined || upstreamEndedAt === undefined) return;
    const own = record.endedAt - record.arrivedAt - record.queuedMs - (upstreamEndedAt - dispatchedAt);
    this.#overhead.labels(record.route).observe(Math.max(0, own) / 1000);
  }

  #countAdmission(record: RequestRecord): void {
    const { upstream, problem } = record;
    const band = record.principal?.band;
    if (band === undefined) return;
    if (record.parked) this.#parked.labels(upstream, band).inc();
    if (record.dispatchedAt !== undefined) this.#wait.labels(upstream, band).observe(record.queuedMs / 1000);
    else if (record.phase === 'queued') {
      const reason = record.clientGone ? 'cancelled' : problem === undefined ? undefined : reasonOf(problem);
      if (reason !== undefined) this.#admissionRejected.labels(upstream, band, reason).inc();
    }
  }

  #countTokens(record: RequestRecord): void {
    const { model, upstream, dialect, usage } = record;
    if (model === undefined || dialect === undefined) return;
    if (record.firstContentAt !== undefined) {
      this.#ttft.labels(upstream, model, dialect).observe((record.firstContentAt - record.arrivedAt) / 1000);
    }
    if (usage === undefined) return;
    this.#tokens.labels(upstream, model, 'prompt').inc(usage.promptTokens);
    this.#tokens.labels(upstream, model, 'cached').inc(usage.cachedTokens);
    this.#tokens.labels(upstream, model, 'completion').inc(usage.completionTokens);
    this.#tokens.labels(upstream, model, 'reasoning').inc(usage.reasoningTokens);
    if (record.firstContentAt === undefined || record.upstreamEndedAt === undefined) return;
    const seconds = (record.upstreamEndedAt - record.firstContentAt) / 1000;
    if (seconds > 0) this.#outputRate.labels(upstream, model).observe(usage.completionTokens / seconds);
  }
}

const isUp = (outcome: string): boolean => outcome === 'ok' || outcome === 'client_error';
