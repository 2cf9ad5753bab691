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

  it.each<[Record<string, string>, string]>([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'nonsense' }, 'OTEL_EXPORTER_OTLP_ENDPOINT is no http or https URL: traces go to http://localhost:4318/v1/traces.'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }, 'OTEL_EXPORTER_OTLP_ENDPOINT is no http or https URL: traces go to http://localhost:4318/v1/traces.'],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: '/v1/traces', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://me:secret@collector:4318/otlp/' }, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is no http or https URL: traces go to http://collector:4318/otlp/v1/traces.'],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector/mine', OTEL_EXPORTER_OTLP_ENDPOINT: 'x' }, 'OTEL_EXPORTER_OTLP_ENDPOINT is no http or https URL: traces go to https://collector/mine.'],
    [{ OTEL_TRACE_SAMPLER: 'always_on' }, 'OTEL_TRACE_SAMPLER is no variable that is known here, and changes nothing.'],
    [{ OTEL_LOG_LEVEL: 'debug' }, 'OTEL_LOG_LEVEL is not supported here, and changes nothing.'],
    [{ OTEL_EXPORTER_OTLP_ENDPIONT: 'http://collector' }, 'OTEL_EXPORTER_OTLP_ENDPIONT is no variable that is known here, and changes nothing.'],
    [{ OTEL_LINK_ATTRIBUTE_COUNT_LIMIT: '9' }, 'OTEL_LINK_ATTRIBUTE_COUNT_LIMIT is not supported here, and changes nothing.'],
    [{ OTEL_METRICS_EXPORTER: 'otlp' }, 'OTEL_METRICS_EXPORTER is not supported here, and changes nothing.'],
    [{ OTEL_EXPORTER_OTLP_INSECURE: 'true' }, 'OTEL_EXPORTER_OTLP_INSECURE is not supported here, and changes nothing.'],
  ])('says of %j what comes of it', (env, warning) => {
    expect(readOtelEnvironment(env).warnings).toEqual([warning]);
  }); // prettier-ignore

  it('says nothing of variables that nobody has set, that Kubernetes sets, or while traces are off', () => {
    const set = {
      OTEL_LOG_LEVEL: '',
      OTEL_COLLECTOR_SERVICE_HOST: '10.0.0.9',
      OTEL_COLLECTOR_SERVICE_PORT_GRPC: '4317',
    };
    const links = { OTEL_COLLECTOR_PORT: 'tcp://10.0.0.9:4317', OTEL_COLLECTOR_PORT_4317_TCP_ADDR: '10.0.0.9' };
    expect(readOtelEnvironment({ ...set, ...links, HOTEL_NAME: 'x' }).warnings).toEqual([]);
    expect(readOtelEnvironment({ OTEL_SDK_DISABLED: 'true', OTEL_LOG_LEVEL: 'debug' }).warnings).toEqual([]);
  });

  it('leaves to the packages nothing that it has warned of', () => {
    const env = {
      OTEL_TRACES_SAMPLER: 'sometimes',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'nonsense',
      OTEL_SERVICE_NAME: 'edge',
    };
    readOtelEnvironment(env);
    expect(env).toEqual({ OTEL_TRACES_SAMPLER: '', OTEL_EXPORTER_OTLP_ENDPOINT: '', OTEL_SERVICE_NAME: 'edge' });
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
