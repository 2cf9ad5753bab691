import { reasonOf } from '../../../common/problem/problems.js';
import type { Phase } from '../../../common/request-record.js';
import type { RequestFacts } from './ended-request.js';
import type { Moments } from './moments.js';

/** One request in one line. Nothing in it comes from a body or a credential. */
export interface RequestBrief {
  readonly requestId: string;
  /** Milliseconds since 1970. */
  readonly arrivedAtMs: number;
  /** So far, or until it ended. */
  readonly tookMs: number;
  readonly waitedMs: number;
  readonly phase: Phase;
  readonly route: string;
  readonly upstream: string;
  readonly model: string | undefined;
  readonly tenant: string | undefined;
  readonly band: string | undefined;
  readonly endpoint: string | undefined;
  /** undefined: it runs. 499: the client left before there was one. */
  readonly status: number | undefined;
  /** Why the gateway turned it away, in snake case. */
  readonly reason: string | undefined;
  /** Of that the kind, where there are several: what was wrong with a token, or of what a budget had too little. */
  readonly why: string | undefined;
  /** The test of the admission that held it last. */
  readonly heldBy: string | undefined;
}

/** `ended`: it is closed; otherwise it runs. */
export function briefOf(record: RequestFacts, ended: boolean, at: Moments): RequestBrief {
  const { requestId, phase, route, upstream, model, principal, endpoint, problem, cause } = record;
  const { tenant, band } = principal ?? {};
  return {
    ...{ requestId, phase, route, upstream, model, tenant, band, endpoint },
    arrivedAtMs: at.wallOf(record.arrivedAt),
    tookMs: Math.round((ended ? record.endedAt : at.now) - record.arrivedAt),
    waitedMs: Math.round(waitOf(record, at.now)),
    status: ended ? record.status || 499 : undefined,
    reason: problem === undefined ? undefined : reasonOf(problem),
    why: whyOf(cause),
    heldBy: record.holds?.at(-1)?.test,
  };
}

/** The first word of a cause that is written in words; of whatever else a cause may be, nothing. */
export const whyOf = (cause: unknown): string | undefined =>
  typeof cause === 'string' ? /^[a-z_]+(?=:|$)/.exec(cause)?.[0] : undefined;

/** When it ended, in milliseconds since 1970. */
export const endOf = ({ arrivedAtMs, tookMs }: RequestBrief): number => arrivedAtMs + tookMs;

/** Where it still waits, its wait so far. */
function waitOf({ phase, queuedAt, queuedMs, endedAt }: RequestFacts, now: number): number {
  return phase === 'queued' && queuedAt !== undefined && endedAt === 0 ? now - queuedAt : queuedMs;
}
