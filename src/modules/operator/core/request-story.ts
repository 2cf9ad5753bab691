import { PROBLEMS } from '../../../common/problem/problems.js';
import type { RequestFacts } from './ended-request.js';
import type { Moments } from './moments.js';
import { briefOf, whyOf, type RequestBrief } from './request-brief.js';

/** What happened to a request, one thing at a time. */
export interface StoryStep {
  readonly what: 'arrived' | 'identified' | 'queued' | 'held' | 'granted' | 'first-content' | 'engine-ended' | 'ended';
  /** Since it arrived; undefined: not known to the millisecond, after the step before. */
  readonly afterMs: number | undefined;
  /** Names and numbers that belong to it. */
  readonly facts: Readonly<Record<string, string | number | boolean | undefined>>;
}

/** What is known of one request, by its id. */
export interface RequestStory extends RequestBrief {
  readonly live: boolean;
  /** Which of several it was served by, as in the log; undefined: there is one process. */
  readonly worker?: number;
  readonly traceId: string | undefined;
  readonly method: string;
  readonly dialect: string | undefined;
  readonly operation: string | undefined;
  readonly steps: readonly StoryStep[];
  readonly requestBytes: number;
  readonly responseBytes: number;
  readonly heartbeats: number;
  /** As the engine counted them. */
  readonly promptTokens: number | undefined;
  readonly cachedTokens: number | undefined;
  readonly completionTokens: number | undefined;
  /** What it was let in for. */
  readonly estimatedPromptTokens: number | undefined;
}

/** `live`: it still runs. */
export function storyOf(record: RequestFacts, live: boolean, at: Moments): RequestStory {
  const { traceId, method, dialect, operation, requestBytes, responseBytes, heartbeats, usage } = record;
  return {
    ...briefOf(record, !live, at),
    ...{ live, traceId, method, dialect, operation, requestBytes, responseBytes, heartbeats },
    steps: stepsOf(record, live),
    promptTokens: usage?.promptTokens,
    cachedTokens: usage?.cachedTokens,
    completionTokens: usage?.completionTokens,
    estimatedPromptTokens: record.estimatedPromptTokens,
  };
}

function stepsOf(record: RequestFacts, live: boolean): StoryStep[] {
  const after = (time: number | undefined): number | undefined =>
    time === undefined ? undefined : Math.max(0, Math.round(time - record.arrivedAt));
  const step = (what: StoryStep['what'], time: number | undefined, facts: StoryStep['facts'] = {}): StoryStep => ({
    what,
    afterMs: after(time),
    facts,
  });
  const { principal, firstContentAt, upstreamEndedAt, upstreamOutcome } = record;
  const steps = [step('arrived', record.arrivedAt, { route: record.route, peer: record.peerAddress })];
  if (principal !== undefined)
    steps.push(step('identified', undefined, { tenant: principal.tenant, band: principal.band }));
  steps.push(...waitSteps(record, step), ...grantSteps(record, step));
  if (firstContentAt !== undefined) steps.push(step('first-content', firstContentAt));
  if (upstreamEndedAt !== undefined) steps.push(step('engine-ended', upstreamEndedAt, { outcome: upstreamOutcome }));
  if (!live) steps.push(step('ended', record.endedAt, endFacts(record)));
  return steps;
}

type MakeStep = (what: StoryStep['what'], time: number | undefined, facts?: StoryStep['facts']) => StoryStep;

function waitSteps(record: RequestFacts, step: MakeStep): StoryStep[] {
  const { queuedAt, queuedBehind, holds, upstream, model, phase, queuedMs } = record;
  if (queuedAt === undefined) return [];
  // Without a wait a request was tried and taken at once; what held it for no time is no part of its story.
  const waited = queuedBehind !== undefined && (phase === 'queued' || queuedMs > 0);
  const asked = step('queued', queuedAt, { upstream, model, behind: waited ? queuedBehind : undefined });
  if (!waited) return [asked];
  return [asked, ...(holds ?? []).map(({ test, at }) => step('held', at, { test }))];
}

function grantSteps({ dispatchedAt, endpoint, queuedMs }: RequestFacts, step: MakeStep): StoryStep[] {
  if (dispatchedAt === undefined) return [];
  return [step('granted', dispatchedAt, { endpoint, waitedMs: Math.round(queuedMs) })];
}

function endFacts({ status, phase, problem, cause, clientGone, usage }: RequestFacts): StoryStep['facts'] {
  return {
    why: whyOf(cause),
    status: status || 499,
    phase,
    reason: problem,
    title: problem === undefined ? undefined : PROBLEMS[problem].title,
    clientGone,
    promptTokens: usage?.promptTokens,
    completionTokens: usage?.completionTokens,
  };
}
