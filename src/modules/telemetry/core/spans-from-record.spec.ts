import { RequestRecord } from '../../../common/request-record.js';
import { spansFromRecord } from './spans-from-record.js';

const CALLER = { traceId: 't', spanId: 'caller', sampled: true, state: undefined };
const TRACE = { traceId: 't', caller: undefined, sampled: true, serverSpanId: 'server', upstreamSpanId: 'call' };

function record(fields: Partial<RequestRecord> = {}): RequestRecord {
  const made = new RequestRecord('req-1', 10, () => undefined);
  const base = { method: 'POST', route: '/v1/rerank', upstream: 'engine', status: 200, endedAt: 90, trace: TRACE };
  return Object.assign(made, base, fields);
}

const spans = (fields: Partial<RequestRecord>) => spansFromRecord(record(fields), undefined);

describe('spansFromRecord', () => {
  it('makes none where tracing is off or the trace is not sampled', () => {
    expect(spans({ trace: undefined })).toEqual([]);
    expect(spans({ trace: { ...TRACE, sampled: false } })).toEqual([]);
  });

  it('makes one of a request that asked for no place', () => {
    expect(spans({})).toEqual([
      expect.objectContaining({ spanId: 'server', parentSpanId: undefined, startMs: 10, endMs: 90, failed: false }),
    ]);
  });

  it.each(['/healthz', '/readyz'])('leaves %s out, unless somebody traces it', (route) => {
    expect(spans({ route })).toEqual([]);
    expect(spans({ route, trace: { ...TRACE, caller: CALLER } })).toHaveLength(1);
  });

  it('a wait that ends in a refusal lasts to the end, and is the failure', () => {
    const [server, admission, ...more] = spans({ queuedAt: 20, problem: 'queue-timeout', status: 504 });
    expect(more).toEqual([]);
    expect(server).toMatchObject({ failed: true, attributes: { 'error.type': 'queue_timeout' } });
    expect(admission).toMatchObject({
      startMs: 20,
      endMs: 90,
      failed: true,
      parentSpanId: 'server',
      spanId: undefined,
    });
    expect(admission?.attributes['error.type']).toBe('queue_timeout');
  });

  it('an answer that broke off behind its head is a failure, whatever its status', () => {
    const broken = { queuedAt: 20, dispatchedAt: 30, upstreamEndedAt: 80, upstreamStatus: 200 } as const;
    const [server, , call] = spans({ ...broken, problem: 'upstream-failed', upstreamOutcome: 'reset' });
    expect(server).toMatchObject({ failed: true, attributes: { 'http.response.status_code': 200 } });
    expect(call).toMatchObject({ failed: true, startMs: 30, endMs: 80, attributes: { 'error.type': 'reset' } });
  });

  it('a client that leaves is no failure of anybody', () => {
    const [server, , call] = spans({
      queuedAt: 20,
      dispatchedAt: 30,
      clientGone: true,
      status: 0,
      upstreamOutcome: 'cancelled',
    });
    expect(server).toMatchObject({ failed: false, attributes: { 'gateway.client_gone': true } });
    expect(server?.attributes).not.toHaveProperty('http.response.status_code');
    expect(call).toMatchObject({ failed: false, endMs: 90, attributes: { 'error.type': 'cancelled' } });
  });

  it("a client's own mistake is no failure of the server", () => {
    expect(spans({ problem: 'unknown-model', status: 400 })).toEqual([expect.objectContaining({ failed: false })]);
  });

  it('says how many endpoints had refused before', () => {
    const [, , call] = spans({ queuedAt: 20, dispatchedAt: 30, upstreamOutcome: 'ok', refusedBefore: 2 });
    expect(call?.attributes['http.request.resend_count']).toBe(2);
  });
});
