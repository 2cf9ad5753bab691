import type { Usage } from './canonical/usage.js';
import type { Principal } from './principal.js';
import type { ProblemCode } from './problem/problems.js';
import type { WholeResponse } from './rendering.js';
import type { RequestTrace } from './request-trace.js';

/** Where a request was when it ended. */
export type Phase = 'head' | 'upload' | 'queued' | 'waiting' | 'streaming' | 'done';

/** How the engine's side of it ended, in the words of `upstream_requests_total`. */
export type UpstreamOutcome = 'ok' | 'client_error' | 'server_error' | 'refused' | 'reset' | 'timeout' | 'cancelled';

/** Tests that take turns in holding a request are not written down without end. */
const MOST_HOLDS = 12;

/** A test that held a request back, and since when. */
export interface Hold {
  readonly test: string;
  readonly at: number;
}

/**
 * What happened to one request, and when: filled in by whoever knows, read once when it is closed. Times are
 * milliseconds of the monotonic clock. Every field is there from the start: added as they become known, in one order or
 * another, they would make records of many shapes, and slow down whoever reads one.
 */
export class RequestRecord {
  /** The configured path that matched; never the client's text. */
  route = 'none';
  method = '';
  dialect: string | undefined = undefined;
  operation: string | undefined = undefined;
  model: string | undefined = undefined;
  upstream = 'none';
  principal: Principal | undefined = undefined;
  /** The socket's other end, as text. */
  peerAddress = 'unknown';
  /** The trace that it belongs to: the caller's, or one begun here. */
  traceId: string | undefined = undefined;
  /** undefined: tracing is off. */
  trace: RequestTrace | undefined = undefined;
  /** The status that the client got or, where it left first, 499. */
  status = 0;
  phase: Phase = 'head';
  problem: ProblemCode | undefined = undefined;
  /** Why, for the log only. */
  cause: unknown = undefined;
  /** The address that it was sent to last, as host:port. */
  endpoint: string | undefined = undefined;
  /** The status that the upstream answered with. */
  upstreamStatus: number | undefined = undefined;
  upstreamOutcome: UpstreamOutcome | undefined = undefined;
  /** Endpoints that refused the connection before another one was asked. */
  refusedBefore = 0;
  clientGone = false;
  /** How long its body was waited for. */
  uploadMs = 0;
  /** When it asked for a place. */
  queuedAt: number | undefined = undefined;
  queuedMs = 0;
  /** Had to wait for its place. */
  parked = false;
  /** Requests of its band that waited when it had to. */
  queuedBehind: number | undefined = undefined;
  /** What held it back while it waited, in turn; of more than a few the first ones and the last. */
  holds: Hold[] | undefined = undefined;
  dispatchedAt: number | undefined = undefined;
  /** When the engine's side was over. */
  upstreamEndedAt: number | undefined = undefined;
  firstContentAt: number | undefined = undefined;
  /** When an answer that is no stream was sent, all at once. */
  wholeSentAt: number | undefined = undefined;
  endedAt = 0;
  requestBytes = 0;
  responseBytes = 0;
  heartbeats = 0;
  usage: Usage | undefined = undefined;
  /** Prompt tokens that the request was let in for. */
  estimatedPromptTokens: number | undefined = undefined;
  /** What it came to in tokens, however it ended; undefined: nothing that is counted in tokens was asked for. */
  tokens: number | undefined = undefined;
  /** That is an estimate, in whole or in part: the engine has not told all of it. */
  tokensEstimated = false;
  #closed = false;

  constructor(
    readonly requestId: string,
    readonly arrivedAt: number,
    private readonly sink: (record: RequestRecord) => void,
  ) {}

  /** From here on it may have to wait for its place. */
  asksForPlace(now: number): void {
    this.phase = 'queued';
    this.queuedAt = now;
  }

  /** It waited for its place, or for nothing, this long in all. Less than a millisecond is no wait. */
  waited(ms: number): void {
    if (ms < 1) return;
    this.queuedMs = ms;
    this.parked = true;
  }

  /** What it asks costs its upstream next to nothing: it waits for no place. */
  needsNoPlace(): void {
    this.phase = 'waiting';
    this.queuedAt = undefined;
  }

  /** It goes to an endpoint; the one that it had been sent to before has refused the connection. */
  sentTo(endpoint: string | undefined, now: number): void {
    if (this.dispatchedAt !== undefined) this.refusedBefore += 1;
    this.upstreamOutcome = undefined;
    this.phase = 'waiting';
    this.endpoint = endpoint;
    this.dispatchedAt = now;
  }

  /** From now on this test of the admission keeps it waiting. */
  heldBy(test: string, now: number): void {
    this.holds ??= [];
    if (this.holds.length === MOST_HOLDS) this.holds.pop();
    this.holds.push({ test, at: now });
  }

  /** An answer that is no stream is sent. */
  answeredWhole({ status, body }: WholeResponse, now: number): void {
    this.status = status;
    this.responseBytes += body.length;
    this.wholeSentAt = now;
  }

  /** It ends, perhaps in the queue: then it has waited in vain. */
  gaveUp(now: number): void {
    if (this.phase === 'queued' && this.queuedAt !== undefined) this.waited(this.queuedMs + now - this.queuedAt);
  }

  /** Hands the record to its readers. The second and later calls do nothing. */
  close(now: number): void {
    if (this.#closed) return;
    this.#closed = true;
    this.endedAt = now;
    this.gaveUp(now);
    this.sink(this);
  }
}

const RECORD = Symbol('request record');
interface Recorded {
  [RECORD]?: RequestRecord;
}

/** Ties a record to the raw request that it tells of. */
export function attachRecord(request: object, record: RequestRecord): void {
  (request as Recorded)[RECORD] = record;
}

/** The record of a raw request, where it has one. */
export const findRecord = (request: object): RequestRecord | undefined => (request as Recorded)[RECORD];

/** The record of a raw request. Throws for one that did not come in by the front door. */
export function recordOf(request: object): RequestRecord {
  const record = findRecord(request);
  if (record === undefined) throw new Error('the request has no record');
  return record;
}
