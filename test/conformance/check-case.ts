import { foldStream, type StreamDialect } from '../support/fold-stream.js';
import { objectOr, shown } from '../support/json.js';
import { match, matchInOrder } from '../support/patterns.js';
import { jsonOf, type ScriptedEngine } from '../support/scripted-engine.js';
import { brokenInvariant, type StreamKind } from '../support/stream-invariants.js';
import type { CaseDialect, ConformanceCase, Expectation } from './case-file.js';
import type { Received } from './send-case.js';

/** A finished run of a case: what the client got and what the engine saw. */
export interface Outcome {
  readonly received: Received;
  readonly engine: ScriptedEngine;
}

type Check = (expected: Expectation, outcome: Outcome, dialect: CaseDialect) => string | undefined;

/** Every field of the case's expectation that does not hold; empty where all do. */
export async function faultsOf({ expect, dialect, upstream }: ConformanceCase, outcome: Outcome): Promise<string[]> {
  const { anyOf, ...always } = expect;
  const faults = await faultsOfFields(always, outcome, dialect);
  if (upstream.none === true && outcome.engine.requests.length > 0) faults.push('the engine was asked');
  if (anyOf === undefined) return faults;
  const ways = await Promise.all(anyOf.map((way) => faultsOfFields(way, outcome, dialect)));
  return ways.some((way) => way.length === 0) ? faults : [...faults, `anyOf: ${ways.map(String).join('  OR  ')}`];
}

async function faultsOfFields(expected: Expectation, outcome: Outcome, dialect: CaseDialect): Promise<string[]> {
  const faults = CHECKS.map((check) => check(expected, outcome, dialect)).filter((fault) => fault !== undefined);
  if (expected.upstreamAborted === true && !(await outcome.engine.sawAbort())) {
    faults.push('upstreamAborted: the engine saw no abort');
  }
  return faults;
}

const CHECKS: readonly Check[] = [
  ({ status }, { received }) => (status === undefined ? undefined : match(status, received.response?.status, 'status')),
  checkHeaders,
  ({ body }, { received }) => (body === undefined ? undefined : match(body, received.response?.json(), 'body')),
  ({ upstreamRequest }, { engine }) =>
    upstreamRequest === undefined ? undefined : match(upstreamRequest, jsonOf(engine.lastRequest), 'upstreamRequest'),
  ({ upstreamPath }, { engine }) =>
    upstreamPath === undefined ? undefined : match(upstreamPath, engine.lastRequest?.path, 'upstreamPath'),
  ({ upstreamHeaders }, { engine }) =>
    upstreamHeaders && match(upstreamHeaders, { ...engine.lastRequest?.headers }, 'upstreamHeaders'),
  ({ upstreamCalls }, { engine }) =>
    upstreamCalls === undefined ? undefined : match(upstreamCalls, engine.requests.length, 'upstreamCalls'),
  ({ events }, { received }) => events && matchInOrder(events, received.frames, 'events'),
  ({ noEvents }, { received }) => noEvents && checkNoEvents(noEvents, received),
  checkStream,
  ({ accumulated }, { received }, dialect) =>
    accumulated === undefined
      ? undefined
      : match(accumulated, foldStream(streamDialect(dialect), received.frames), 'accumulated'),
];

/** `application/problem+json` is JSON, so it meets a pattern that wants `application/json`. */
function checkHeaders({ headers = {} }: Expectation, { received }: Outcome): string | undefined {
  for (const [name, pattern] of Object.entries(headers)) {
    const value = received.response?.header(name);
    const asJson = name === 'content-type' ? value?.replace('application/problem+json', 'application/json') : value;
    const fault = match(pattern, value, `headers.${name}`);
    if (fault !== undefined && match(pattern, asJson) !== undefined) return fault;
  }
  return undefined;
}

function checkNoEvents(patterns: readonly unknown[], { frames }: Received): string | undefined {
  const found = frames.find((frame) => patterns.some((pattern) => match(pattern, frame) === undefined));
  return found === undefined ? undefined : `noEvents: found ${shown(objectOr(found))}`;
}

function checkStream(
  { wellFormed, outcome }: Expectation,
  { received }: Outcome,
  dialect: CaseDialect,
): string | undefined {
  if (wellFormed === undefined && outcome === undefined) return undefined;
  const kind = wellFormed ?? STREAM_KINDS[streamDialect(dialect)];
  const broken = brokenInvariant(kind, received.frames, outcome);
  if (broken !== undefined) return `wellFormed ${kind}: ${broken}`;
  if (outcome === undefined) return undefined;
  if (received.response?.end !== 'clean') return `outcome ${outcome}: the response was cut`;
  return received.rest === '' ? undefined : `outcome ${outcome}: half an event is left: ${shown(received.rest)}`;
}

const STREAM_KINDS: Readonly<Record<StreamDialect, StreamKind>> = {
  anthropic: 'anthropic',
  'openai-chat': 'openai-chat',
  'openai-completions': 'openai-completions',
  'openai-responses': 'responses',
};

function streamDialect(dialect: CaseDialect): StreamDialect {
  switch (dialect) {
    case 'anthropic':
    case 'openai-chat':
    case 'openai-completions':
    case 'openai-responses':
      return dialect;
    case 'openai-embeddings':
    case 'openai-rerank':
    case 'openai-models':
      throw new Error(`${dialect} has no streams`);
  }
}
