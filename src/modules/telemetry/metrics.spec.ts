import { Registry } from 'prom-client';
import { FakeClock } from '../../../test/support/fake-clock.js';
import { findSample } from '../../../test/support/metric-samples.js';
import { RequestRecord } from '../../common/request-record.js';
import { Metrics } from './metrics.js';
import { UpstreamHealth } from './upstream-health.js';

const principal = { tenant: 'acme', band: 'gold', scopes: undefined };

/** The page after one request. */
async function pageAfter(fields: Partial<RequestRecord>, then?: (record: RequestRecord) => void): Promise<string> {
  const registry = new Registry();
  const metrics = new Metrics(registry, new UpstreamHealth(['engine'], () => [], new FakeClock()));
  const record = new RequestRecord('req-1', 0, (closed) => metrics.count(closed));
  Object.assign(record, { route: '/x', method: 'POST', upstream: 'engine', status: 200, principal }, fields);
  then?.(record);
  record.close(100);
  return registry.metrics();
}

describe('Metrics', () => {
  it('counts the endpoints that refused before one took the request', async () => {
    const page = await pageAfter({ upstreamOutcome: 'ok', refusedBefore: 2 });
    const calls = (outcome: string) => findSample(page, 'upstream_requests_total', { upstream: 'engine', outcome });
    expect([calls('refused'), calls('ok')]).toEqual([2, 1]);
    expect(findSample(page, 'upstream_up', { upstream: 'engine' })).toBe(1);
  });

  it.each<[string, Partial<RequestRecord>, string]>([
    ['that left before there was an answer', { status: 0, clientGone: true }, '499'],
    ['that left in the middle of it', { status: 200, clientGone: true, phase: 'streaming' }, '499'],
    ['whose answer broke off', { status: 200, clientGone: true, problem: 'upstream-failed' }, '200'],
    ['that has had all of it', { status: 200, phase: 'done' }, '200'],
  ])('counts a client %s by the right status', async (_, fields, status) => {
    expect(findSample(await pageAfter(fields), 'http_requests_total', { status })).toBe(1);
  });

  it('knows nothing of the last endpoint while the next one is asked', async () => {
    const page = await pageAfter({ upstreamOutcome: 'refused', dispatchedAt: 10 }, (record) =>
      record.sentTo('b:1', 20),
    );
    expect(findSample(page, 'upstream_requests_total', { outcome: 'refused' })).toBe(1);
  });

  it('a question that needs no place is in none of the figures of the queue', async () => {
    const asked = { phase: 'queued', queuedAt: 10, dispatchedAt: 20, upstreamEndedAt: 30 } as const;
    const page = await pageAfter({ ...asked, clientGone: true }, (record) => record.needsNoPlace());
    expect(page).not.toMatch(/^admission_(wait_seconds_count|rejected_total)/m);
    expect(findSample(page, 'client_disconnects_total', { phase: 'head' })).toBe(1);
  });

  it('counts one that went back to the queue and waits there in vain as turned away, and not as admitted', async () => {
    const again = { phase: 'queued', queuedAt: 30, dispatchedAt: 20, upstreamOutcome: 'refused' } as const;
    const page = await pageAfter({ ...again, problem: 'queue-timeout' });
    expect(findSample(page, 'admission_rejected_total', { band: 'gold', reason: 'queue_timeout' })).toBe(1);
    expect(page).not.toContain('admission_wait_seconds_count');
  });

  it("counts as turned away by admission only what is admission's to refuse", async () => {
    const page = await pageAfter({ phase: 'queued', queuedAt: 10, problem: 'upstream-unreachable' });
    expect(page).not.toMatch(/^admission_rejected_total/m);
    expect(findSample(page, 'http_rejected_total', { reason: 'upstream_unreachable' })).toBe(1);
  });

  it('times the first content of a whole answer, too, and knows no rate of its output', async () => {
    const usage = { promptTokens: 7, completionTokens: 3, cachedTokens: 0, reasoningTokens: 0 };
    const asked = { model: 'm', dialect: 'openai', dispatchedAt: 10, wholeSentAt: 80, upstreamEndedAt: 81 };
    const page = await pageAfter({ ...asked, usage });
    expect(findSample(page, 'llm_ttft_seconds_sum', { model: 'm' })).toBeCloseTo(0.08);
    expect(page).not.toContain('llm_output_tokens_per_second_count');
    expect(await pageAfter(asked)).not.toContain('llm_ttft_seconds_count');
  });

  it('leaves upload, queue and upstream out of the time that is its own', async () => {
    const page = await pageAfter({ uploadMs: 5, queuedAt: 10, queuedMs: 40, dispatchedAt: 50, upstreamEndedAt: 90 });
    expect(findSample(page, 'gateway_overhead_seconds_sum')).toBeCloseTo(0.015);
    expect(findSample(page, 'admission_wait_seconds_sum', { band: 'gold' })).toBeCloseTo(0.04);
  });
});
