import { randomUUID } from 'node:crypto';
import {
  createTraceState,
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace as spans,
  TraceFlags,
  type Context,
  type DiagLogger,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  type IdGenerator,
  type Sampler,
} from '@opentelemetry/sdk-trace-base';
import type { OperatorLog } from '../../common/operator-log.js';
import type { RequestRecord } from '../../common/request-record.js';
import { callerSpanIn, type CallerSpan, type RequestTrace, type TraceFields } from '../../common/request-trace.js';
import type { UpstreamPlace } from './core/span-attributes.js';
import { spansFromRecord, type SpanDraft } from './core/spans-from-record.js';
import { readOtelEnvironment, type OtelEnvironment } from './otel-environment.js';
import type { Tracing } from './tracing.js';
import { WatchedExporter } from './watched-exporter.js';

/** How long the end of the process waits for a collector that may not be there: until its last export has given up. */
const LAST_FLUSH_MS = 4000;
const SERVICE = 'gateway';
const KINDS = { server: SpanKind.SERVER, internal: SpanKind.INTERNAL, client: SpanKind.CLIENT } as const;

/** By name. */
export type UpstreamPlaces = ReadonlyMap<string, UpstreamPlace>;

/** Opens the exporter that the OTEL_* variables describe. undefined: they switch it off. */
export function openTracing(places: UpstreamPlaces, log: OperatorLog): Tracing | undefined {
  diag.setLogger(onceEach(log), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  // The packages read the environment themselves; these few variables they leave to us.
  // eslint-disable-next-line no-restricted-properties
  const environment = readOtelEnvironment(process.env);
  for (const warning of environment.warnings) log.warn({}, warning);
  if (!environment.disabled) return new OtelTracing(environment, places, log);
  log.info({}, 'tracing is on in the configuration, and switched off by the OTEL_* variables');
  return undefined;
}

/** Makes spans of closed records, whose ids were given out when the requests came in. */
class OtelTracing implements Tracing {
  readonly #random = new RandomIdGenerator();
  readonly #ids = new IdsInHand(this.#random);
  readonly #sampler: Sampler;
  readonly #provider: BasicTracerProvider;
  readonly #tracer: Tracer;

  constructor(
    environment: OtelEnvironment,
    private readonly places: UpstreamPlaces,
    log: OperatorLog,
  ) {
    this.#sampler = samplerOf(environment);
    this.#provider = new BasicTracerProvider({
      // What was not sampled on arrival never gets here.
      sampler: new AlwaysOnSampler(),
      idGenerator: this.#ids,
      resource: ownResource(),
      spanProcessors: [new BatchSpanProcessor(new WatchedExporter(exporterOf(environment), log))],
    });
    this.#tracer = this.#provider.getTracer(SERVICE);
  }

  begin(fields: TraceFields): RequestTrace {
    const caller = callerSpanIn(fields);
    const traceId = caller?.traceId ?? this.#random.generateTraceId();
    return {
      traceId,
      caller,
      sampled: this.#isSampled(traceId, caller),
      serverSpanId: this.#random.generateSpanId(),
      upstreamSpanId: this.#random.generateSpanId(),
    };
  }

  take(record: RequestRecord): void {
    const { trace } = record;
    if (trace === undefined) return;
    // The record's clock is monotonic, the world's is set now and then: they are compared anew for each request.
    const epochMs = Date.now() - performance.now();
    for (const draft of spansFromRecord(record, this.places.get(record.upstream))) this.#emit(draft, trace, epochMs);
  }

  async end(): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => resolve(undefined), LAST_FLUSH_MS);
    // What could not be sent has been told by the exporter.
    await Promise.race([this.#provider.shutdown().catch(() => undefined), late]);
    clearTimeout(timer);
    diag.disable();
  }

  #isSampled(traceId: string, caller: CallerSpan | undefined): boolean {
    const context = caller === undefined ? ROOT_CONTEXT : contextOf(remoteSpan(caller));
    const { decision } = this.#sampler.shouldSample(context, traceId, '', SpanKind.SERVER, {}, []);
    return decision === SamplingDecision.RECORD_AND_SAMPLED;
  }

  #emit(draft: SpanDraft, trace: RequestTrace, epochMs: number): void {
    const { name, attributes } = draft;
    const kind = KINDS[draft.kind];
    this.#ids.give(trace.traceId, draft.spanId);
    const startTime = epochMs + draft.startMs;
    const span = this.#tracer.startSpan(name, { kind, startTime, attributes }, parentOf(draft, trace));
    if (draft.failed) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(epochMs + draft.endMs);
  }
}

/** Gives a span the ids that it has been told of under. */
class IdsInHand implements IdGenerator {
  #traceId = '';
  #spanId: string | undefined;

  constructor(private readonly random: RandomIdGenerator) {}

  give(traceId: string, spanId: string | undefined): void {
    this.#traceId = traceId;
    this.#spanId = spanId;
  }

  readonly generateTraceId = (): string => this.#traceId;
  readonly generateSpanId = (): string => this.#spanId ?? this.random.generateSpanId();
}

function parentOf({ parentSpanId, kind }: SpanDraft, { traceId, caller }: RequestTrace): Context {
  if (parentSpanId === undefined) return ROOT_CONTEXT;
  if (kind === 'server' && caller !== undefined) return contextOf(remoteSpan(caller));
  const traceState = caller?.state === undefined ? undefined : createTraceState(caller.state);
  return contextOf({
    traceId,
    spanId: parentSpanId,
    traceFlags: TraceFlags.SAMPLED,
    ...(traceState !== undefined && { traceState }),
  });
}

const contextOf = (parent: SpanContext): Context => spans.setSpanContext(ROOT_CONTEXT, parent);

const remoteSpan = ({ traceId, spanId, sampled, state }: CallerSpan): SpanContext => ({
  traceId,
  spanId,
  traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
  isRemote: true,
  ...(state !== undefined && { traceState: createTraceState(state) }),
});

function samplerOf({ sampler, ratio }: OtelEnvironment): Sampler {
  switch (sampler) {
    case 'always_on':
      return new AlwaysOnSampler();
    case 'always_off':
      return new AlwaysOffSampler();
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(ratio);
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() });
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() });
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
  }
}

const exporterOf = ({ exportTimeoutMs }: OtelEnvironment): OTLPTraceExporter =>
  new OTLPTraceExporter(exportTimeoutMs === undefined ? {} : { timeoutMillis: exportTimeoutMs });

/** Who we are: our own name and a name for this process, unless OTEL_SERVICE_NAME and _RESOURCE_ATTRIBUTES say otherwise. */
function ownResource() {
  const own = resourceFromAttributes({ 'service.name': SERVICE, 'service.instance.id': randomUUID() });
  return defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }));
}

/** What the packages have to say of their settings and their queue, each text once. */
function onceEach(log: OperatorLog): DiagLogger {
  const told = new Set<string>();
  const tell = (message: string): void => {
    const text = message.slice(0, 300);
    const kind = text.replace(/\d+/g, '#');
    if (told.has(kind)) return;
    told.add(kind);
    log.warn({}, `traces: ${text}`);
  };
  const quiet = (): void => undefined;
  return { error: tell, warn: tell, info: quiet, debug: quiet, verbose: quiet };
}
