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

type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULT_SAMPLER = 'parentbased_always_on';
/** Not the usual 10 s: nothing can stop a retry that has begun, and the process would outlive its requests by it. */
const EXPORT_TIMEOUT_MS = 3000;
const TIMEOUTS = ['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', 'OTEL_EXPORTER_OTLP_TIMEOUT'];
const PROTOCOLS = ['OTEL_EXPORTER_OTLP_PROTOCOL', 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'];

/** As the specification wants it, what cannot be used is warned of and left out, and never stops a start. */
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
  const exportTimeoutMs = TIMEOUTS.some((name) => valueOf(env, name) !== undefined) ? undefined : EXPORT_TIMEOUT_MS;
  return { disabled, ...samplerFrom(env, warnings), exportTimeoutMs, warnings };
}

function samplerFrom(env: Environment, warnings: string[]): { sampler: SamplerName; ratio: number } {
  const asked = valueOf(env, 'OTEL_TRACES_SAMPLER') ?? DEFAULT_SAMPLER;
  const sampler = SAMPLERS.find((name) => name === asked);
  if (sampler === undefined)
    warnings.push(
      `OTEL_TRACES_SAMPLER is ${quoted(asked)}, which is none of ${SAMPLERS.join(', ')}: ${DEFAULT_SAMPLER} is used.`,
    );
  return { sampler: sampler ?? DEFAULT_SAMPLER, ratio: ratioFrom(env, sampler, warnings) };
}

function ratioFrom(env: Environment, sampler: SamplerName | undefined, warnings: string[]): number {
  if (sampler?.endsWith('traceidratio') !== true) return 1;
  const text = valueOf(env, 'OTEL_TRACES_SAMPLER_ARG');
  const ratio = Number(text ?? 1);
  if (ratio >= 0 && ratio <= 1) return ratio;
  warnings.push(`OTEL_TRACES_SAMPLER_ARG is ${quoted(text ?? '')}, which is no number from 0 to 1: 1 is used.`);
  return 1;
}

/** The specification takes an empty variable for one that is not set. */
function valueOf(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === '' ? undefined : value;
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, 80));
