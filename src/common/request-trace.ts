/** The span that a caller or a proxy in front of us has opened, as `traceparent` and `tracestate` tell it. */
export interface CallerSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
  /** What tracing systems have noted; handed on as it came. */
  readonly state: string | undefined;
}

/** The ids of one request's spans, chosen on arrival: the engine is told of its parent before that span has ended. */
export interface RequestTrace {
  readonly traceId: string;
  readonly caller: CallerSpan | undefined;
  readonly sampled: boolean;
  readonly serverSpanId: string;
  /** Of the call to the upstream. */
  readonly upstreamSpanId: string;
}

/** The fields of a request's head, lower-case names. */
export type TraceFields = Readonly<Record<string, string | string[] | undefined>>;

const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;
/** Length of version 00, which has no room for more. */
const TRACEPARENT_LENGTH = 55;
const SAMPLED = 1;

/** W3C Trace Context, section 3.2. undefined: there is no traceparent, or an invalid one. */
export function callerSpanIn(fields: TraceFields): CallerSpan | undefined {
  const traceparent = fields['traceparent'];
  const tracestate = fields['tracestate'];
  if (typeof traceparent !== 'string') return undefined;
  const [, version, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === '00' && traceparent.length !== TRACEPARENT_LENGTH) return undefined;
  const sampled = (parseInt(flags, 16) & SAMPLED) === SAMPLED;
  return { traceId, spanId, sampled, state: typeof tracestate === 'string' ? tracestate : undefined };
}

/** The fields by which the upstream's spans become children of ours, as name, value, name, value. */
export function upstreamTraceFields({ traceId, upstreamSpanId, sampled, caller }: RequestTrace): string[] {
  const fields = ['traceparent', `00-${traceId}-${upstreamSpanId}-${sampled ? '01' : '00'}`];
  if (caller?.state !== undefined) fields.push('tracestate', caller.state);
  return fields;
}
