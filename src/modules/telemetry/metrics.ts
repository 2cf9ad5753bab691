import type { Registry } from 'prom-client';
import { reasonOf, type ProblemCode } from '../../common/problem/problems.js';
import type { Phase, RequestRecord } from '../../common/request-record.js';
import { LabelTree, type Labels } from './core/label-tree.js';
import { registerCounter, registerHistogram, type CounterCell, type HistogramCell } from './tallies.js';
import { showHealth, type UpstreamHealth } from './upstream-health.js';

const LEFT_IN: Record<Phase, string> = {
  head: 'upload',
  upload: 'upload',
  queued: 'queued',
  waiting: 'head',
  streaming: 'stream',
  done: 'stream',
};

/** Why admission turns somebody away. */
const REFUSALS: ReadonlySet<ProblemCode> = new Set(['queue-full', 'engine-saturated', 'queue-timeout', 'draining']);

/** Why one that waited for its place got none. undefined: for a reason that is not admission's. */
function refusalOf({ clientGone, problem }: RequestRecord): string | undefined {
  if (clientGone) return 'cancelled';
  return problem !== undefined && REFUSALS.has(problem) ? reasonOf(problem) : undefined;
}

/**
 * The status under which a request is counted: 499 where the client left before it had all of its answer, whatever it
 * had been sent. An answer that failed keeps its status, though its connection was closed before its end.
 */
const countedStatus = ({ status, clientGone, problem }: RequestRecord): number =>
  status === 0 || (clientGone && problem === undefined) ? 499 : status;

/** When the first content went to the client. What is no stream goes all at once, and is content where it cost tokens. */
const firstContentOf = ({ firstContentAt, wholeSentAt, usage }: RequestRecord): number | undefined =>
  firstContentAt ?? (usage === undefined ? undefined : wholeSentAt);

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
  readonly #wait;
  readonly #parked;
  readonly #admissionRejected;
  readonly #ttft;
  readonly #outputRate;
  readonly #tokens;
  readonly #disconnects;
  readonly #heartbeats;
  readonly #estimateRatio;

  constructor(
    registry: Registry,
    private readonly health: UpstreamHealth,
  ) {
    this.#requests = registerCounter(registry, 'http_requests_total');
    this.#rejected = registerCounter(registry, 'http_rejected_total');
    this.#duration = registerHistogram(registry, 'http_request_duration_seconds');
    this.#requestBytes = registerCounter(registry, 'http_request_bytes_total');
    this.#responseBytes = registerCounter(registry, 'http_response_bytes_total');
    this.#overhead = registerHistogram(registry, 'gateway_overhead_seconds');
    this.#upstreamRequests = registerCounter(registry, 'upstream_requests_total');
    this.#wait = registerHistogram(registry, 'admission_wait_seconds');
    this.#parked = registerCounter(registry, 'admission_parked_total');
    this.#admissionRejected = registerCounter(registry, 'admission_rejected_total');
    this.#ttft = registerHistogram(registry, 'llm_ttft_seconds');
    this.#outputRate = registerHistogram(registry, 'llm_output_tokens_per_second');
    this.#tokens = registerCounter(registry, 'llm_tokens_total');
    this.#estimateRatio = registerHistogram(registry, 'admission_estimate_ratio');
    this.#disconnects = registerCounter(registry, 'client_disconnects_total');
    this.#heartbeats = registerCounter(registry, 'stream_heartbeats_total');
    showHealth(registry, health);
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
    const { upstreamOutcome: outcome, upstream, dispatchedAt, upstreamEndedAt, refusedBefore } = record;
    if (refusedBefore > 0) this.#upstreamRequests.cell(upstream, 'refused').add(refusedBefore);
    if (outcome !== undefined) {
      this.#upstreamRequests.cell(upstream, outcome).add(1);
      this.health.note(upstream, outcome);
    }
    if (dispatchedAt === undefined || upstreamEndedAt === undefined) return;
    const elsewhere = record.uploadMs + record.queuedMs + (upstreamEndedAt - dispatchedAt);
    const own = record.endedAt - record.arrivedAt - elsewhere;
    cells.overhead.observe(Math.max(0, own) / 1000);
  }

  #countAdmission(record: RequestRecord): void {
    const { upstream } = record;
    const band = record.principal?.band;
    if (band === undefined) return;
    if (record.parked) this.#parked.cell(upstream, band).add(1);
    if (record.queuedAt === undefined) return;
    // It may have been dispatched before, to an endpoint that refused it.
    if (record.phase === 'queued') {
      const reason = refusalOf(record);
      if (reason !== undefined) this.#admissionRejected.cell(upstream, band, reason).add(1);
    } else if (record.dispatchedAt !== undefined) this.#wait.cell(upstream, band).observe(record.queuedMs / 1000);
  }

  #countTokens(record: RequestRecord): void {
    const { model, upstream, dialect, usage } = record;
    if (model === undefined || dialect === undefined) return;
    const firstAt = firstContentOf(record);
    if (firstAt !== undefined) this.#ttft.cell(upstream, model, dialect).observe((firstAt - record.arrivedAt) / 1000);
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
