import { isIP } from 'node:net';
import type { Peer } from '../../../common/networks.js';
import { upstreamTraceFields, type RequestTrace } from '../../../common/request-trace.js';

/** RFC 9110 section 7.6.1, RFC 9112 and their relatives: fields that belong to one connection. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'proxy-authenticate',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'expect',
  'content-length',
  'host',
]);
/** Fields by which somebody else decides who calls or where it goes; the gateway derives them itself or not at all. */
const NEVER_UP = new Set([
  'authorization',
  'cookie',
  'api-key',
  'apikey',
  'x-api-key',
  'x-access-token',
  'x-authorization',
  'forwarded',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-real-ip',
  'true-client-ip',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-upstream',
  'x-request-id',
  'x-user',
  'x-user-id',
  'x-user-name',
  'x-user-email',
  'x-user-groups',
  'x-user-role',
  'x-user-roles',
  'x-username',
  'x-email',
  'x-groups',
  'x-role',
  'x-roles',
  'x-subject',
  'x-tenant',
  'x-consumer',
  'x-anonymous-consumer',
  'x-band',
  'x-priority',
  'x-scope',
  'x-scopes',
]);
/** Families of such fields, as proxies and identity providers name them. */
const NEVER_UP_FAMILY =
  /^(?:x-(?:llmgw|authentik|auth|consumer|credential|envoy|forwarded|goog|original|proxy|remote|rewrite|sim|tenant)|remote|cf)-/;
/** Fields that the upstream needs with the gateway's value, whatever a caller says of them in `Connection`. */
const NEEDED_UP = new Set(['content-type', 'traceparent', 'tracestate']);
/** What an upstream says about itself or the connection; never the client's business. */
const NEVER_DOWN = new Set([
  'server',
  'x-powered-by',
  'alt-svc',
  'set-cookie',
  'www-authenticate',
  'strict-transport-security',
  'x-request-id',
  'request-id',
  'ratelimit',
  'ratelimit-policy',
]);
const NEVER_DOWN_FAMILY = /^x-(?:accel|llmgw)-/;
/** Fields of a caller that engines may see, in the order they are sent. */
const ENGINE_FIELDS = ['accept', 'user-agent', 'traceparent', 'tracestate'] as const;
/** The caller's, unless the gateway has spans of its own. */
const isOfTrace = (name: string): boolean => name === 'traceparent' || name === 'tracestate';

/** What the gateway itself says of a request to whoever serves it. */
export interface OwnWords {
  readonly requestId: string;
  /** undefined: the gateway has no spans, and hands on those of its caller. */
  readonly trace?: RequestTrace | undefined;
}

/** The fields named in `Connection`, lower case (RFC 9110 section 7.6.1). */
function connectionNames(connection: string | undefined): ReadonlySet<string> | undefined {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return undefined;
  return new Set(
    connection
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  );
}

/** The request fields that this file reads, lower-case names. */
export type RequestFields = Readonly<Record<string, string | string[] | undefined>>;

const single = (value: string | string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : value?.[0];

/**
 * X-Forwarded-For, -Proto, -Host and Forwarded (RFC 7239) for the upstream: extended behind a trusted proxy, replaced
 * by the gateway's own view for anyone else.
 */
export function forwardingFields(fields: RequestFields, peer: Peer): string[] {
  const before = (name: string): string | undefined => (peer.trusted ? single(fields[name]) : undefined);
  const chain = before('x-forwarded-for');
  const forwarded = before('forwarded');
  const out = [
    'x-forwarded-for',
    chain === undefined ? peer.address : `${chain}, ${peer.address}`,
    'x-forwarded-proto',
    before('x-forwarded-proto') ?? 'http',
    'x-forwarded-host',
    before('x-forwarded-host') ?? single(fields['host']) ?? '',
  ];
  if (forwarded !== undefined) {
    const node = isIP(peer.address) === 6 ? `"[${peer.address}]"` : peer.address;
    out.push('forwarded', `${forwarded}, for=${node}`);
  }
  return out;
}

/** What an engine is sent of a caller's fields: an allow-list, the forwarding fields, the request id. */
export function engineRequestHeaders(fields: RequestFields, peer: Peer, own: OwnWords): string[] {
  const { trace } = own;
  const out = ['content-type', 'application/json', 'x-request-id', own.requestId];
  const named = connectionNames(single(fields['connection']));
  for (const name of ENGINE_FIELDS) {
    const value = fields[name];
    if (trace !== undefined && isOfTrace(name)) continue;
    if (typeof value === 'string' && !isOfConnection(name, named)) out.push(name, value);
  }
  if (trace !== undefined) out.push(...upstreamTraceFields(trace));
  out.push(...forwardingFields(fields, peer));
  return out;
}

/**
 * What a plain upstream is sent: every field but those of the connection, of credentials, of identity, routing and
 * forwarding, in dash or underscore spelling. `forward` names credentials that may cross after all.
 */
export function proxyRequestHeaders(
  raw: readonly string[],
  fields: RequestFields,
  peer: Peer,
  own: OwnWords,
  forward: readonly string[] | undefined,
): string[] {
  const { trace } = own;
  const named = connectionNames(single(fields['connection']));
  const out: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = (raw[i] ?? '').toLowerCase();
    if (trace !== undefined && isOfTrace(name)) continue;
    const allowed = forward?.includes(name) === true ? !isOfConnection(name, named) : !staysHere(name, named);
    if (allowed) out.push(name, raw[i + 1] ?? '');
  }
  out.push('x-request-id', own.requestId, ...forwardingFields(fields, peer));
  if (trace !== undefined) out.push(...upstreamTraceFields(trace));
  return out;
}

function staysHere(name: string, named: ReadonlySet<string> | undefined): boolean {
  const spelled = dashed(name);
  if (HOP_BY_HOP.has(spelled) || isOfConnection(name, named)) return true;
  return NEVER_UP.has(spelled) || NEVER_UP_FAMILY.test(spelled);
}

/** Raw fields without those of the given names, which are in lower case with dashes. */
export function withoutFields(raw: readonly string[], names: ReadonlySet<string>): readonly string[] {
  const isHidden = (index: number): boolean => names.has(dashed((raw[index - (index % 2)] ?? '').toLowerCase()));
  return raw.some((_, index) => isHidden(index)) ? raw.filter((_, index) => !isHidden(index)) : raw;
}

/** Servers behind CGI and its heirs take both spellings of a name for one. */
export const dashed = (name: string): string => name.replaceAll('_', '-');

const isOfConnection = (name: string, named: ReadonlySet<string> | undefined): boolean =>
  named?.has(name) === true && !NEEDED_UP.has(name);

/** What a plain upstream's answer may carry to the client, as name, value, name, value. */
export function proxyResponseHeaders(
  fields: Readonly<Record<string, string | readonly string[] | undefined>>,
  forward: readonly string[] | undefined,
): string[] {
  const connection = fields['connection'];
  const named = connectionNames(typeof connection === 'string' ? connection : connection?.join(','));
  const out: string[] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || named?.has(name) === true) continue;
    // The length is kept, so that a cut answer is one for the client too; undici refuses it beside a transfer coding.
    if (HOP_BY_HOP.has(name) && name !== 'content-length') continue;
    if (forward?.includes(name) !== true && (NEVER_DOWN.has(name) || NEVER_DOWN_FAMILY.test(name))) continue;
    if (typeof value === 'string') out.push(name, value);
    else for (const one of value) out.push(name, one);
  }
  return out;
}

/** RFC 9110 field value, as this gateway writes it: visible ASCII, space, tab and Latin-1; no CR, LF or NUL. */
export const isFieldValue = (value: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
