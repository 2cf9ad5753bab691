import type { RequestRecord } from '../../../common/request-record.js';

export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** What the configuration says of an upstream. */
export interface UpstreamPlace {
  /** The kind of engine. */
  readonly engine: string;
  /** host:port. */
  readonly authority: string;
}

/** The methods that the conventions name; any other one is written as `_OTHER`. */
const METHODS: ReadonlySet<string> = new Set('GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH QUERY'.split(' '));

/** The conventions' names of what is done; rerank has none yet. */
const OPERATIONS: Readonly<Record<string, string>> = { completions: 'text_completion' };

/** The method as a part of a span's name. */
export const methodWord = ({ method }: RequestRecord): string => (METHODS.has(method) ? method : 'HTTP');

/** What the server span says of a request. */
export function routeWords(record: RequestRecord): Attributes {
  const known = METHODS.has(record.method);
  return present({
    'http.request.method': known ? record.method : '_OTHER',
    'http.request.method_original': known ? undefined : record.method,
    'http.route': record.route === 'none' ? undefined : record.route,
    'http.response.status_code': record.status === 0 ? undefined : record.status,
    'http.request.body.size': record.requestBytes,
    'http.response.body.size': record.responseBytes,
    'gateway.request_id': record.requestId,
    'gateway.dialect': record.dialect,
    'gateway.model': record.model,
    'gateway.upstream': record.upstream === 'none' ? undefined : record.upstream,
    'gateway.tenant': record.principal?.tenant,
    'gateway.band': record.principal?.band,
    'gateway.phase': record.phase,
    'gateway.client_gone': record.clientGone || undefined,
    'gateway.heartbeats': record.heartbeats || undefined,
  });
}

/** Name and attributes of the call to an upstream: in the GenAI conventions where a model was asked, else in HTTP's. */
export function engineWords(
  record: RequestRecord,
  place: UpstreamPlace | undefined,
): { readonly name: string; readonly attributes: Attributes } {
  const { model, operation } = record;
  const call = callWords(record, place);
  if (model === undefined || operation === undefined) return { name: methodWord(record), attributes: call };
  const does = OPERATIONS[operation] ?? operation;
  return { name: `${does} ${model}`, attributes: { ...call, ...modelWords(record, does, place) } };
}

function callWords(record: RequestRecord, place: UpstreamPlace | undefined): Attributes {
  const authority = record.endpoint ?? place?.authority;
  return present({
    'http.request.method': METHODS.has(record.method) ? record.method : '_OTHER',
    'http.response.status_code': record.upstreamStatus,
    'http.request.resend_count': record.refusedBefore || undefined,
    ...(authority !== undefined && addressWords(authority)),
    'gateway.upstream': record.upstream,
  });
}

function modelWords(record: RequestRecord, operation: string, place: UpstreamPlace | undefined): Attributes {
  const { usage, dispatchedAt, firstContentAt } = record;
  return present({
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': place?.engine,
    'gen_ai.request.model': record.model,
    'gen_ai.usage.input_tokens': usage?.promptTokens,
    'gen_ai.usage.output_tokens': usage?.completionTokens,
    'gen_ai.usage.cache_read.input_tokens': usage?.cachedTokens,
    'gen_ai.usage.reasoning.output_tokens': usage?.reasoningTokens,
    'gen_ai.response.time_to_first_chunk':
      firstContentAt === undefined || dispatchedAt === undefined ? undefined : (firstContentAt - dispatchedAt) / 1000,
  });
}

function addressWords(authority: string): Attributes {
  const colon = authority.lastIndexOf(':');
  const host = colon < 0 || authority.endsWith(']') ? authority : authority.slice(0, colon);
  const port = Number(authority.slice(host.length + 1));
  return { 'server.address': host.replace(/^\[|\]$/g, ''), ...(port > 0 && { 'server.port': port }) };
}

/** Without what is not known. */
function present(all: Readonly<Record<string, string | number | boolean | undefined>>): Attributes {
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
  );
}
