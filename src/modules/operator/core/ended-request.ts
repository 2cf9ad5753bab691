import type { RequestRecord } from '../../../common/request-record.js';

/** What is told of a request. */
export type RequestFacts = Pick<RequestRecord, Exclude<keyof EndedRequest, 'note'>>;

const NOTHING_USED = { promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 };
const known = (time: number): number | undefined => (Number.isNaN(time) ? undefined : time);

/**
 * What is kept of a request that has ended. It is written over by a later one: records that were kept themselves would
 * be copied by two looks through the young generation, and be garbage in the old one soon after.
 */
export class EndedRequest {
  requestId = '';
  traceId: RequestRecord['traceId'] = undefined;
  route = '';
  method = '';
  dialect: RequestRecord['dialect'] = undefined;
  operation: RequestRecord['operation'] = undefined;
  model: RequestRecord['model'] = undefined;
  upstream = '';
  principal: RequestRecord['principal'] = undefined;
  peerAddress = '';
  endpoint: RequestRecord['endpoint'] = undefined;
  phase: RequestRecord['phase'] = 'head';
  status = 0;
  problem: RequestRecord['problem'] = undefined;
  cause: RequestRecord['cause'] = undefined;
  clientGone = false;
  holds: RequestRecord['holds'] = undefined;
  queuedBehind: RequestRecord['queuedBehind'] = undefined;
  upstreamOutcome: RequestRecord['upstreamOutcome'] = undefined;
  arrivedAt = 0;
  queuedMs = 0;
  endedAt = 0;
  requestBytes = 0;
  responseBytes = 0;
  heartbeats = 0;
  estimatedPromptTokens: RequestRecord['estimatedPromptTokens'] = undefined;

  // Numbers and nothing else, so that V8 writes over them where they lie. NaN: it did not come to that.
  private queued = NaN;
  private dispatched = NaN;
  private firstContent = NaN;
  private upstreamEnded = NaN;
  private counted = false;
  private readonly used = { ...NOTHING_USED };

  get queuedAt(): RequestRecord['queuedAt'] {
    return known(this.queued);
  }
  get dispatchedAt(): RequestRecord['dispatchedAt'] {
    return known(this.dispatched);
  }
  get firstContentAt(): RequestRecord['firstContentAt'] {
    return known(this.firstContent);
  }
  get upstreamEndedAt(): RequestRecord['upstreamEndedAt'] {
    return known(this.upstreamEnded);
  }
  get usage(): RequestRecord['usage'] {
    return this.counted ? { ...this.used } : undefined;
  }

  /** Member by member: a loop over their names takes ten times as long. */
  note(record: RequestRecord): void {
    this.requestId = record.requestId;
    this.traceId = record.traceId;
    this.route = record.route;
    this.method = record.method;
    this.dialect = record.dialect;
    this.operation = record.operation;
    this.model = record.model;
    this.upstream = record.upstream;
    this.principal = record.principal;
    this.peerAddress = record.peerAddress;
    this.endpoint = record.endpoint;
    this.phase = record.phase;
    this.status = record.status;
    this.problem = record.problem;
    this.cause = record.cause;
    this.clientGone = record.clientGone;
    this.holds = record.holds;
    this.queuedBehind = record.queuedBehind;
    this.upstreamOutcome = record.upstreamOutcome;
    this.arrivedAt = record.arrivedAt;
    this.queued = record.queuedAt ?? NaN;
    this.queuedMs = record.queuedMs;
    this.dispatched = record.dispatchedAt ?? NaN;
    this.firstContent = record.firstContentAt ?? NaN;
    this.upstreamEnded = record.upstreamEndedAt ?? NaN;
    this.endedAt = record.endedAt;
    this.requestBytes = record.requestBytes;
    this.responseBytes = record.responseBytes;
    this.heartbeats = record.heartbeats;
    this.noteUsage(record.usage);
    this.estimatedPromptTokens = record.estimatedPromptTokens;
  }

  private noteUsage(usage: RequestRecord['usage']): void {
    this.counted = usage !== undefined;
    const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = usage ?? NOTHING_USED;
    this.used.promptTokens = promptTokens;
    this.used.cachedTokens = cachedTokens;
    this.used.completionTokens = completionTokens;
    this.used.reasoningTokens = reasoningTokens;
  }
}
