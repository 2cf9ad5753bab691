import type { RequestRecord } from '../../../common/request-record.js';

/** What is told of a request. */
export type RequestFacts = Pick<RequestRecord, Exclude<keyof EndedRequest, 'note'>>;

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
  queuedAt: RequestRecord['queuedAt'] = undefined;
  queuedMs = 0;
  dispatchedAt: RequestRecord['dispatchedAt'] = undefined;
  firstContentAt: RequestRecord['firstContentAt'] = undefined;
  upstreamEndedAt: RequestRecord['upstreamEndedAt'] = undefined;
  endedAt = 0;
  requestBytes = 0;
  responseBytes = 0;
  heartbeats = 0;
  usage: RequestRecord['usage'] = undefined;
  estimatedPromptTokens: RequestRecord['estimatedPromptTokens'] = undefined;

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
    this.queuedAt = record.queuedAt;
    this.queuedMs = record.queuedMs;
    this.dispatchedAt = record.dispatchedAt;
    this.firstContentAt = record.firstContentAt;
    this.upstreamEndedAt = record.upstreamEndedAt;
    this.endedAt = record.endedAt;
    this.requestBytes = record.requestBytes;
    this.responseBytes = record.responseBytes;
    this.heartbeats = record.heartbeats;
    this.usage = record.usage;
    this.estimatedPromptTokens = record.estimatedPromptTokens;
  }
}
