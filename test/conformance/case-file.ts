import { readdirSync, readFileSync } from 'node:fs';
import { isList, isObject, type JsonObject } from '../support/json.js';
import type { EngineScript } from '../support/scripted-engine.js';
import type { StreamKind } from '../support/stream-invariants.js';

export type CaseDialect =
  | 'anthropic'
  | 'openai-chat'
  | 'openai-completions'
  | 'openai-embeddings'
  | 'openai-rerank'
  | 'openai-models'
  | 'openai-responses';

export interface CaseRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: JsonObject;
  readonly rawBody?: string;
  /** The client leaves once it has received so many events. */
  readonly abortAfterEvents?: number;
  readonly abortAfterMs?: number;
}

export type CaseUpstream = EngineScript & { readonly engine?: 'vllm' | 'ollama' | 'openai' };

/** What must hold; every pattern that is there. */
export interface Expectation {
  readonly status?: unknown;
  readonly headers?: JsonObject;
  readonly body?: unknown;
  readonly upstreamRequest?: unknown;
  readonly upstreamPath?: unknown;
  readonly upstreamHeaders?: JsonObject;
  readonly upstreamCalls?: unknown;
  readonly upstreamAborted?: true;
  readonly events?: readonly unknown[];
  readonly noEvents?: readonly unknown[];
  readonly wellFormed?: StreamKind;
  readonly outcome?: 'complete' | 'error';
  readonly accumulated?: unknown;
  readonly anyOf?: readonly Expectation[];
}

export interface ConformanceCase {
  readonly id: string;
  readonly name: string;
  readonly dialect: CaseDialect;
  readonly request: CaseRequest;
  readonly upstream: CaseUpstream;
  readonly expect: Expectation;
}

export interface CaseFile {
  readonly topic: string;
  readonly cases: readonly ConformanceCase[];
}

const FOLDER = new URL('./cases/', import.meta.url);

/** Every case file, in the order of their names. Throws on a file that is not one, and on an id used twice. */
export function loadCaseFiles(): CaseFile[] {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  const files = names.sort().map((name) => caseFileFrom(JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')), name));
  const ids = files.flatMap(({ cases }) => cases.map(({ id }) => id));
  const twice = ids.find((id, position) => ids.indexOf(id) !== position);
  if (twice !== undefined) throw new Error(`the case id ${twice} is used twice`);
  return files;
}

const CASE_FIELDS = ['id', 'name', 'dialect', 'source', 'why', 'request', 'upstream', 'expect'];
const EXPECT_FIELDS = [
  ...['status', 'headers', 'body', 'upstreamRequest', 'upstreamPath', 'upstreamHeaders', 'upstreamCalls'],
  ...['upstreamAborted', 'events', 'noEvents', 'wellFormed', 'outcome', 'accumulated', 'anyOf'],
];

/** A field that nothing reads would be a check that never runs: it is refused. */
function caseFileFrom(json: unknown, name: string): CaseFile {
  if (!isObject(json) || !isList(json['cases'])) throw new Error(`${name}: no list of cases`);
  for (const each of json['cases']) {
    if (!isObject(each) || typeof each['id'] !== 'string') throw new Error(`${name}: a case without an id`);
    const at = `${name} ${each['id']}`;
    onlyKnown(each, CASE_FIELDS, at);
    if (!isObject(each['request']) || !isObject(each['upstream'])) throw new Error(`${at}: no request or upstream`);
    checkExpectation(each['expect'], at);
  }
  return json as unknown as CaseFile;
}

function checkExpectation(expectation: unknown, at: string): void {
  if (!isObject(expectation) || Object.keys(expectation).length === 0) throw new Error(`${at}: expects nothing`);
  onlyKnown(expectation, EXPECT_FIELDS, at);
  if (isList(expectation['anyOf'])) for (const each of expectation['anyOf']) checkExpectation(each, `${at} anyOf`);
}

function onlyKnown(object: JsonObject, names: readonly string[], at: string): void {
  const unknown = Object.keys(object).filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new Error(`${at}: unknown field ${unknown.join(', ')}`);
}
