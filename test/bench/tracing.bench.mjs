// What tracing costs a request, in microseconds of CPU: switched off, not sampled, and sampled without its export.
// Run after a build: node test/bench/tracing.bench.mjs
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { scaled } from './scale.mjs';

const dist = resolve(`${import.meta.dirname}/../../dist`);
const load = (path) => import(pathToFileURL(`${dist}/${path}`).href);
const { openTracing } = await load('modules/telemetry/otel-tracing.js');
const { RequestRecord } = await load('common/request-record.js');
const { callerSpanIn } = await load('common/request-trace.js');

// Nothing is sent: what is queued beyond a few spans is dropped.
process.env.OTEL_BSP_MAX_QUEUE_SIZE = '1000';
process.env.OTEL_BSP_SCHEDULE_DELAY = '3600000';
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const tracing = openTracing(new Map([['engine', { engine: 'vllm', authority: 'engine:80' }]]), silent);

const fields = { host: 'gateway', 'content-type': 'application/json' };
const traced = { ...fields, traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };

const record = (sampled) =>
  Object.assign(new RequestRecord('request', 1, () => undefined), {
    ...{ route: '/v1/chat/completions', method: 'POST', dialect: 'openai', operation: 'chat', model: 'demo' },
    ...{ upstream: 'engine', status: 200, upstreamOutcome: 'ok', upstreamStatus: 200 },
    ...{ queuedAt: 2, dispatchedAt: 3, upstreamEndedAt: 4, endedAt: 5, principal: { tenant: 'a', band: 'gold' } },
    usage: { promptTokens: 1, completionTokens: 2, cachedTokens: 0, reasoningTokens: 0 },
    trace: { ...tracing.begin(traced), sampled },
  });

function measure(name, rounds, act) {
  const times = scaled(rounds);
  for (let i = 0; i < scaled(20_000); i += 1) act();
  const before = process.cpuUsage();
  for (let i = 0; i < times; i += 1) act();
  const { user, system } = process.cpuUsage(before);
  console.log(`${name.padEnd(42)} ${((user + system) / times).toFixed(3)} us`);
}

const [sampled, unsampled] = [record(true), record(false)];
measure('off, no traceparent', 2_000_000, () => callerSpanIn(fields));
measure('off, a traceparent for the log', 500_000, () => callerSpanIn(traced));
measure('on, ids and the decision', 300_000, () => tracing.begin(traced));
measure('on, the end of a request not sampled', 1_000_000, () => tracing.take(unsampled));
measure('on, the spans of a request', 100_000, () => tracing.take(sampled));
process.exit(0);
