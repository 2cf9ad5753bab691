import { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import { invalidField } from '../body-problems.js';
import { isObject, parsedJson } from '../json-value.js';
import type { MemberName } from '../member-names.js';
import type { ScannedRequest } from '../scan-request.js';

/** A rerank request in TEI's words, and the way back for its answer. */
export interface RerankTranslation {
  readonly body: Buffer;
  /**
   * TEI's scores as this dialect's answer. Throws `upstream-invalid` where they are none. `totalTokens` is what the
   * engine counted, if it said: TEI does so in a header, never in the body.
   */
  restore(answer: Buffer, totalTokens?: number): Buffer;
}

/** What the caller asked for, and how the answer calls itself. */
interface Asked {
  readonly id: string;
  readonly model: string;
  readonly topN: number;
}

interface Score {
  readonly index: number;
  readonly score: number;
  readonly text: string | undefined;
}

/** Members of TEI's own that a caller may set beside `documents`. */
const TEI_MEMBERS = ['raw_scores', 'truncate', 'truncation_direction'] as const satisfies readonly MemberName[];

/**
 * The request as a `tei` engine takes it; undefined: it holds TEI's own `texts` and passes as it is. `id` becomes that
 * of the answer. Throws `invalid-request` with the path of the field that is at fault.
 */
export function translateRerankRequest(scan: ScannedRequest, model: string, id: string): RerankTranslation | undefined {
  const own = scan.member('texts');
  if (own !== undefined && !scan.json.isNull(own.valueStart)) return undefined;
  const texts = documentTexts(valueOf(scan, 'documents'));
  const asked: Asked = { id, model, topN: topN(valueOf(scan, 'top_n'), texts.length) };
  const request: Record<string, unknown> = { model, query: query(valueOf(scan, 'query')), texts };
  if (wantsDocuments(valueOf(scan, 'return_documents'))) request['return_text'] = true;
  for (const name of TEI_MEMBERS) {
    const value = valueOf(scan, name);
    if (value !== undefined) request[name] = value;
  }
  return {
    body: Buffer.from(JSON.stringify(request)),
    restore: (answer, totalTokens) => restoredAnswer(asked, scoresFrom(answer, texts.length), totalTokens),
  };
}

/** undefined: the member is absent or null. */
function valueOf(scan: ScannedRequest, name: MemberName): unknown {
  const member = scan.member(name);
  if (member === undefined) return undefined;
  return parsedJson(scan.json.bytes.toString('utf8', member.valueStart, member.valueEnd)) ?? undefined;
}

function query(value: unknown): string {
  if (typeof value !== 'string') throw invalidField('query', 'has to be a string');
  return value;
}

function documentTexts(value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw invalidField('documents', 'has to be a list of strings or of objects with a text');
  if (value.length === 0) throw invalidField('documents', 'has to hold at least one document');
  return value.map((document: unknown, index) => documentText(document, `documents[${index}]`));
}

function documentText(document: unknown, path: string): string {
  if (typeof document === 'string') return document;
  if (!isObject(document)) throw invalidField(path, 'has to be a string or an object with a text');
  if (typeof document['text'] !== 'string') throw invalidField(`${path}.text`, 'has to be a string');
  return document['text'];
}

/** 0 asks for all, as it does in engines that take `top_n` themselves. */
function topN(value: unknown, count: number): number {
  if (value === undefined || value === 0) return count;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
  throw invalidField('top_n', 'has to be a whole number of at least 0, or null');
}

function wantsDocuments(value: unknown): boolean {
  if (value === undefined || typeof value === 'boolean') return value === true;
  throw invalidField('return_documents', 'has to be true, false or null');
}

function scoresFrom(answer: Buffer, count: number): readonly Score[] {
  const value = parsedJson(answer.toString());
  if (!Array.isArray(value)) throw unusable();
  return value.map((entry: unknown) => scoreFrom(entry, count));
}

function scoreFrom(entry: unknown, count: number): Score {
  if (!isObject(entry)) throw unusable();
  const { index, score, text } = entry;
  if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= count) throw unusable();
  if (typeof score !== 'number') throw unusable();
  return { index, score, text: typeof text === 'string' ? text : undefined };
}

const unusable = (): GatewayProblem =>
  new GatewayProblem('upstream-invalid', {
    detail: 'The engine answered a rerank request with something else than scores (server_error).',
  });

function restoredAnswer({ id, model, topN: most }: Asked, scores: readonly Score[], totalTokens?: number): Buffer {
  const results = scores
    .toSorted((a, b) => b.score - a.score)
    .slice(0, most)
    .map(({ index, score, text }) => ({
      index,
      relevance_score: score,
      ...(text === undefined ? {} : { document: { text } }),
    }));
  const usage = totalTokens === undefined ? {} : { usage: { total_tokens: totalTokens } };
  return Buffer.from(JSON.stringify({ id, model, ...usage, results }));
}
