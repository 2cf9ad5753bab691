import * as stable from '@opentelemetry/semantic-conventions';
import * as conventions from '@opentelemetry/semantic-conventions/incubating';
import { RequestRecord } from '../../common/request-record.js';
import { spansFromRecord } from './core/spans-from-record.js';

const KNOWN = new Set<unknown>([...Object.values(stable), ...Object.values(conventions)]);

/** Everything that a record can say. */
function fullRecord(): RequestRecord {
  return Object.assign(new RequestRecord('req-1', 0, () => undefined), {
    route: '/v1/chat/completions',
    method: 'PROPFIND',
    dialect: 'openai',
    operation: 'completions',
    model: 'demo',
    upstream: 'engine',
    endpoint: '[::1]:8000',
    upstreamStatus: 500,
    upstreamOutcome: 'server_error',
    refusedBefore: 1,
    problem: 'upstream-failed',
    status: 502,
    principal: { tenant: 'acme', band: 'gold', scopes: undefined },
    clientGone: true,
    heartbeats: 2,
    queuedAt: 1,
    dispatchedAt: 2,
    firstContentAt: 3,
    usage: { promptTokens: 1, completionTokens: 2, cachedTokens: 3, reasoningTokens: 4 },
    endedAt: 5,
    trace: { traceId: 't', caller: undefined, sampled: true, serverSpanId: 's', upstreamSpanId: 'u' },
  });
}

describe('the names of attributes', () => {
  const spans = spansFromRecord(fullRecord(), { engine: 'vllm', authority: 'engine:80' });

  it("are the conventions' or the gateway's own", () => {
    const names = spans.flatMap(({ attributes }) => Object.keys(attributes));
    expect(names.length).toBeGreaterThan(25);
    expect(names.filter((name) => !KNOWN.has(name) && !name.startsWith('gateway.'))).toEqual([]);
  });

  it('of spans hold nothing of a client but what is configured', () => {
    expect(spans.map(({ name }) => name)).toEqual(['HTTP /v1/chat/completions', 'admission', 'text_completion demo']);
    expect(spans[0]?.attributes).toMatchObject({
      'http.request.method': '_OTHER',
      'http.request.method_original': 'PROPFIND',
    });
    expect(spans[2]?.attributes).toMatchObject({ 'server.address': '::1', 'server.port': 8000 });
  });
});
