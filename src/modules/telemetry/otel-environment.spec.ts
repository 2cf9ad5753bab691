import { readOtelEnvironment, SAMPLERS } from './otel-environment.js';

describe('readOtelEnvironment', () => {
  it('has the defaults of the specification where nothing is set, or set to nothing', () => {
    const standard = {
      disabled: false,
      sampler: 'parentbased_always_on',
      ratio: 1,
      exportTimeoutMs: 3000,
      warnings: [],
    };
    expect(readOtelEnvironment({})).toEqual(standard);
    expect(readOtelEnvironment({ OTEL_TRACES_SAMPLER: ' ', OTEL_TRACES_EXPORTER: '', OTEL_SDK_DISABLED: '' })).toEqual(
      standard,
    );
  });

  it.each(SAMPLERS)('knows the sampler %s', (name) => {
    expect(readOtelEnvironment({ OTEL_TRACES_SAMPLER: name })).toMatchObject({ sampler: name, warnings: [] });
  });

  it('reads a ratio where the sampler has one', () => {
    const of = (sampler: string, arg: string) =>
      readOtelEnvironment({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: arg });
    expect(of('traceidratio', '0.25').ratio).toBe(0.25);
    expect(of('parentbased_traceidratio', '0').ratio).toBe(0);
    expect(of('always_on', '0.25').ratio).toBe(1);
  });

  it.each([{ OTEL_SDK_DISABLED: 'true' }, { OTEL_SDK_DISABLED: 'TRUE' }, { OTEL_TRACES_EXPORTER: 'none' }])(
    'is switched off by %j',
    (env) => expect(readOtelEnvironment(env)).toMatchObject({ disabled: true, warnings: [] }),
  );

  it.each([
    [{ OTEL_TRACES_SAMPLER: 'jaeger_remote' }, 'OTEL_TRACES_SAMPLER is "jaeger_remote", which is none of always_on'],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' }, 'OTEL_TRACES_SAMPLER_ARG is "2"'],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: 'x' }, 'OTEL_TRACES_SAMPLER_ARG is "x"'],
    [{ OTEL_TRACES_EXPORTER: 'zipkin' }, 'OTEL_TRACES_EXPORTER is "zipkin"'],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"'],
    [{ OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf' }, 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is "http/protobuf"'],
    [{ OTEL_PROPAGATORS: 'b3' }, 'OTEL_PROPAGATORS is "b3"'],
  ])('goes on, and says what cannot be done: %j', (env, text) => {
    const { disabled, ratio, warnings } = readOtelEnvironment(env);
    expect([disabled, ratio]).toEqual([false, 1]);
    expect(warnings).toEqual([expect.stringContaining(text)]);
  });

  it('takes what it does anyway', () => {
    const env = {
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_PROPAGATORS: 'tracecontext,baggage',
    };
    expect(readOtelEnvironment(env).warnings).toEqual([]);
  });

  it.each(['OTEL_EXPORTER_OTLP_TIMEOUT', 'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT'])('leaves %s to the exporter', (name) => {
    expect(readOtelEnvironment({ [name]: '10000' }).exportTimeoutMs).toBeUndefined();
  });
});
