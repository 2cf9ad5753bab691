import { RequestRecord } from '../../common/request-record.js';
import { requestLine } from './access-log.js';

function record(fields: Partial<RequestRecord> = {}): RequestRecord {
  const made = new RequestRecord('req-1', 1000, () => undefined);
  return Object.assign(
    made,
    { route: '/v1/chat/completions', method: 'POST', upstream: 'reasoning', status: 200, endedAt: 3500.4 },
    fields,
  );
}
const parsed = (of: RequestRecord): unknown => JSON.parse(requestLine(of, 7));

describe('requestLine', () => {
  it('says all that a line may hold, once it is known', () => {
    const usage = { promptTokens: 12, completionTokens: 34, cachedTokens: 0, reasoningTokens: 0 };
    const principal = { tenant: 'acme', band: 'gold', scopes: undefined };
    const full = record({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      dialect: 'openai',
      model: 'reasoning',
      principal,
      phase: 'done',
      upstreamOutcome: 'ok',
      queuedMs: 12.4,
      firstContentAt: 1500.6,
      requestBytes: 10,
      responseBytes: 20,
      usage,
    });
    expect(parsed(full)).toEqual({
      level: 30, time: 7, request_id: 'req-1', trace_id: '0af7651916cd43dd8448eb211c80319c', route: '/v1/chat/completions', method: 'POST', dialect: 'openai', model: 'reasoning',
      upstream: 'reasoning', tenant: 'acme', band: 'gold', status: 200, phase: 'done', outcome: 'ok', queue_ms: 12, ttft_ms: 501,
      duration_ms: 2500, request_bytes: 10, response_bytes: 20, prompt_tokens: 12, completion_tokens: 34, msg: 'request',
    }); // prettier-ignore
  });

  it('tells a rejection at warn, with its reason', () => {
    expect(parsed(record({ problem: 'queue-full', status: 503 }))).toMatchObject({
      level: 40,
      reason: 'queue_full',
      status: 503,
      msg: 'request rejected',
    });
  });

  it('tells of a client that left the status that it was sent, or 499', () => {
    const left = { client_gone: true, level: 30 };
    expect(parsed(record({ status: 0, clientGone: true }))).toMatchObject({ status: 499, ...left });
    expect(parsed(record({ clientGone: true, phase: 'streaming' }))).toMatchObject({ status: 200, ...left });
  });

  it.each(['a"b', 'a\\b', 'a\nb', 'ä', '\u2028', 'a\u0000b'])(
    'writes one line that nobody can forge, whatever a tenant is called: %j',
    (tenant) => {
      const line = requestLine(record({ principal: { tenant, band: 'gold', scopes: undefined } }), 7);
      expect(line.indexOf('\n')).toBe(line.length - 1);
      expect(JSON.parse(line)).toMatchObject({ tenant });
    },
  );

  it('names the kind of an error and its code, never its message', () => {
    const cause = Object.assign(new TypeError('the prompt was: secret'), { code: 'ECONNRESET' });
    const line = requestLine(record({ problem: 'upstream-unreachable', cause }), 7);
    expect(JSON.parse(line)).toMatchObject({ cause: 'TypeError ECONNRESET' });
    expect(line).not.toContain('secret');
  });
});
