/** The standard variables that OpenTelemetry's packages leave to whoever puts them together. */
export interface OtelEnvironment {
  /** OTEL_SDK_DISABLED, or OTEL_TRACES_EXPORTER=none. */
  readonly disabled: boolean;
  readonly sampler: SamplerName;
  /** Of the samplers by ratio: 0 to 1. */
  readonly ratio: number;
  /** Of one export with its retries. undefined: the exporter reads its own variable. */
  readonly exportTimeoutMs: number | undefined;
  /** What is set and cannot be done, one sentence each. */
  readonly warnings: readonly string[];
}

export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof SAMPLERS)[number];

type Environment = Record<string, string | undefined>;

const DEFAULT_SAMPLER = 'parentbased_always_on';
/** Not the usual 10 s: nothing can stop a retry that has begun, and the process would outlive its requests by it. */
const EXPORT_TIMEOUT_MS = 3000;
const TIMEOUTS = ['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', 'OTEL_EXPORTER_OTLP_TIMEOUT'];
const PROTOCOLS = ['OTEL_EXPORTER_OTLP_PROTOCOL', 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'];
/** The exporter's own, where no variable says otherwise. */
const DEFAULT_TARGET = 'http://localhost:4318/v1/traces';
const TRACES_PATH = 'v1/traces';

/** What is read, here or by the packages. */
const KNOWN = new Set([
  ...['SDK_DISABLED', 'SERVICE_NAME', 'RESOURCE_ATTRIBUTES', 'PROPAGATORS'].map((name) => `OTEL_${name}`),
  ...['EXPORTER', 'SAMPLER', 'SAMPLER_ARG'].map((name) => `OTEL_TRACES_${name}`),
  ...['ENDPOINT', 'HEADERS', 'TIMEOUT', 'PROTOCOL', 'COMPRESSION', 'CERTIFICATE', 'CLIENT_KEY', 'CLIENT_CERTIFICATE']
    .flatMap((name) => [name, `TRACES_${name}`])
    .map((name) => `OTEL_EXPORTER_OTLP_${name}`),
  ...['SCHEDULE_DELAY', 'EXPORT_TIMEOUT', 'MAX_QUEUE_SIZE', 'MAX_EXPORT_BATCH_SIZE'].map((name) => `OTEL_BSP_${name}`),
  ...['ATTRIBUTE_VALUE_LENGTH', 'ATTRIBUTE_COUNT', 'SPAN_ATTRIBUTE_VALUE_LENGTH', 'SPAN_ATTRIBUTE_COUNT']
    .concat(['SPAN_EVENT_COUNT', 'SPAN_LINK_COUNT', 'SPAN_ATTRIBUTE_PER_EVENT_COUNT', 'SPAN_ATTRIBUTE_PER_LINK_COUNT'])
    .map((name) => `OTEL_${name}_LIMIT`),
]);
/** The rest of the specification's names, and of the packages' for this language: for logs, metrics, other exporters. */
const NOT_SUPPORTED = new RegExp(
  [
    ...['ENTITIES', 'CONFIG_FILE', 'SEMCONV_STABILITY_OPT_IN', '(EVENT|LINK)_ATTRIBUTE_COUNT_LIMIT'],
    ...['(LOGS?|LOGRECORD|BLRP|METRICS?|NODE|EXPERIMENTAL|INSTRUMENTATION)_\\w+'],
    ...['EXPORTER_OTLP_((TRACES_)?INSECURE|(METRICS|LOGS)_\\w+)', 'EXPORTER_(PROMETHEUS|ZIPKIN|JAEGER)_\\w+'],
  ]
    .map((name) => `^OTEL_${name}$`)
    .join('|'),
  'u',
);
/** Kubernetes sets these for a Service whose name begins with `otel-`: nobody has asked for them. */
const SERVICE_LINK =
  /_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/u;

/**
 * As the specification wants it, what cannot be used is warned of and left out, and never stops a start. Left out of
 * `env` itself: the packages read the same variables after this, and would tell of it once more.
 */
export function readOtelEnvironment(env: Environment): OtelEnvironment {
  const warnings: string[] = [];
  const exporter = valueOf(env, 'OTEL_TRACES_EXPORTER') ?? 'otlp';
  if (exporter !== 'otlp' && exporter !== 'none')
    warnings.push(`OTEL_TRACES_EXPORTER is ${quoted(exporter)}, but only otlp and none are known: otlp is used.`);
  for (const name of PROTOCOLS) {
    const protocol = valueOf(env, name);
    if (protocol !== undefined && protocol !== 'http/json')
      warnings.push(
        `${name} is ${quoted(protocol)}, but traces are sent as http/json: point the endpoint at its port.`,
      );
  }
  const propagators = valueOf(env, 'OTEL_PROPAGATORS');
  if (propagators !== undefined && !propagators.split(',').some((one) => one.trim() === 'tracecontext'))
    warnings.push(`OTEL_PROPAGATORS is ${quoted(propagators)}, but traceparent and tracestate are what is propagated.`);
  const disabled = valueOf(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true' || exporter === 'none';
  if (!disabled) warnings.push(...withoutBadEndpoints(env), ...strangersIn(env));
  const exportTimeoutMs = TIMEOUTS.some((name) => valueOf(env, name) !== undefined) ? undefined : EXPORT_TIMEOUT_MS;
  return { disabled, ...samplerFrom(env, warnings), exportTimeoutMs, warnings };
}

/** Their values are not quoted: such a URL may hold a password. */
function withoutBadEndpoints(env: Environment): readonly string[] {
  const names = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'];
  const bad = names.filter((name) => {
    const value = valueOf(env, name);
    return value !== undefined && httpUrl(value) === undefined;
  });
  for (const name of bad) leaveOut(env, name);
  return bad.map((name) => `${name} is no http or https URL: traces go to ${targetFrom(env)}.`);
}

/** As the exporter finds it. */
function targetFrom(env: Environment): string {
  const own = httpUrl(valueOf(env, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'));
  if (own !== undefined) return `${own.origin}${own.pathname}`;
  const common = httpUrl(valueOf(env, 'OTEL_EXPORTER_OTLP_ENDPOINT'));
  if (common === undefined) return DEFAULT_TARGET;
  return `${common.origin}${common.pathname.replace(/\/$/u, '')}/${TRACES_PATH}`;
}

function httpUrl(text = ''): URL | undefined {
  const url = URL.parse(text);
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url : undefined;
}

function strangersIn(env: Environment): readonly string[] {
  const names = Object.keys(env).filter(
    (name) =>
      name.startsWith('OTEL_') && !KNOWN.has(name) && !SERVICE_LINK.test(name) && valueOf(env, name) !== undefined,
  );
  return names.map((name) =>
    NOT_SUPPORTED.test(name)
      ? `${name} is not supported here, and changes nothing.`
      : `${name} is no variable that is known here, and changes nothing.`,
  );
}

function samplerFrom(env: Environment, warnings: string[]): { sampler: SamplerName; ratio: number } {
  const asked = valueOf(env, 'OTEL_TRACES_SAMPLER') ?? DEFAULT_SAMPLER;
  const sampler = SAMPLERS.find((name) => name === asked);
  if (sampler === undefined) {
    warnings.push(
      `OTEL_TRACES_SAMPLER is ${quoted(asked)}, which is none of ${SAMPLERS.join(', ')}: ${DEFAULT_SAMPLER} is used.`,
    );
    leaveOut(env, 'OTEL_TRACES_SAMPLER');
  }
  return { sampler: sampler ?? DEFAULT_SAMPLER, ratio: ratioFrom(env, sampler, warnings) };
}

function ratioFrom(env: Environment, sampler: SamplerName | undefined, warnings: string[]): number {
  if (sampler?.endsWith('traceidratio') !== true) return 1;
  const text = valueOf(env, 'OTEL_TRACES_SAMPLER_ARG');
  const ratio = Number(text ?? 1);
  if (ratio >= 0 && ratio <= 1) return ratio;
  warnings.push(`OTEL_TRACES_SAMPLER_ARG is ${quoted(text ?? '')}, which is no number from 0 to 1: 1 is used.`);
  env['OTEL_TRACES_SAMPLER_ARG'] = '1';
  return 1;
}

/** The specification takes an empty variable for one that is not set. */
function valueOf(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === '' ? undefined : value;
}

function leaveOut(env: Environment, name: string): void {
  env[name] = '';
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, 80));
