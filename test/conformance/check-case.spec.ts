import { ScriptedEngine, type EngineScript } from '../support/scripted-engine.js';
import type { CaseRequest, ConformanceCase, Expectation } from './case-file.js';
import { faultsOf } from './check-case.js';
import { sendCase } from './send-case.js';

let engine: ScriptedEngine;

beforeEach(async () => {
  engine = await ScriptedEngine.start();
});

afterEach(() => engine.stop());

const request: CaseRequest = {
  method: 'POST',
  path: '/v1/chat/completions',
  headers: { authorization: 'Bearer {{apiKey}}', 'content-type': 'application/json' },
  body: { model: 'demo-chat' },
};

const chunk = (delta: unknown, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

const STREAM = [chunk({ role: 'assistant', content: 'a' }), chunk({ content: 'b' }, 'stop'), 'data: [DONE]\n\n'];

/** Plays a case without a gateway in between: the engine's answer is what the client gets. */
async function faults(upstream: EngineScript, expect: Expectation, more: Partial<CaseRequest> = {}): Promise<string[]> {
  const each: ConformanceCase = {
    id: 'a-case',
    name: 'a case',
    dialect: 'openai-chat',
    request: { ...request, ...more },
    upstream,
    expect,
  };
  await engine.play(upstream);
  const received = await sendCase({ port: Number(new URL(engine.url).port) }, each.request, 'any');
  return faultsOf(each, { received, engine });
}

describe('faultsOf an answer', () => {
  const upstream: EngineScript = {
    status: 400,
    headers: { 'content-type': 'application/problem+json', 'x-request-id': 'r1' },
    body: { error: { message: 'm' } },
  };

  it('finds none where all holds', async () => {
    const expected: Expectation = {
      status: 400,
      headers: {
        'content-type': { $regex: '^application/json' },
        'x-request-id': 'r1',
        'retry-after': { $absent: true },
      },
      body: { error: { message: 'm' } },
      upstreamRequest: { model: 'demo-chat' },
      upstreamPath: '/v1/chat/completions',
      upstreamHeaders: { authorization: { $includes: 'Bearer ' }, 'x-api-key': { $absent: true } },
      upstreamCalls: 1,
    };
    expect(await faults(upstream, expected)).toEqual([]);
  });

  it.each<[string, Expectation]>([
    ['status', { status: 200 }],
    ['headers.x-request-id', { headers: { 'x-request-id': 'r2' } }],
    ['headers.content-type', { headers: { 'content-type': { $includes: 'text' } } }],
    ['body.error.message', { body: { error: { message: 'n' } } }],
    ['upstreamRequest.model', { upstreamRequest: { model: 'other' } }],
    ['upstreamPath', { upstreamPath: '/v1' }],
    ['upstreamHeaders.authorization', { upstreamHeaders: { authorization: { $absent: true } } }],
    ['upstreamCalls', { upstreamCalls: 0 }],
    ['anyOf', { anyOf: [{ status: 200 }, { status: 500 }] }],
  ])('finds the fault in %s', async (at, expected) => {
    expect(await faults(upstream, expected)).toEqual([expect.stringContaining(at)]);
  });

  it('takes one of several ways', async () => {
    expect(await faults(upstream, { anyOf: [{ status: 200 }, { status: 400 }] })).toEqual([]);
  });

  it('finds that an engine was asked which must not be', async () => {
    expect(await faults({ none: true }, { status: 500 })).toEqual(['the engine was asked']);
  });
});

describe('faultsOf a stream', () => {
  it('finds none where all holds', async () => {
    const expected: Expectation = {
      wellFormed: 'openai-chat',
      outcome: 'complete',
      events: [{ data: { id: 'c' } }, { data: '[DONE]' }],
      noEvents: [{ data: { error: { $any: true } } }],
      accumulated: { choices: [{ message: { content: 'ab' }, finish_reason: 'stop' }] },
    };
    expect(await faults({ sse: STREAM }, expected)).toEqual([]);
  });

  it.each<[string, Expectation, EngineScript]>([
    ['wellFormed', { wellFormed: 'openai-chat' }, { sse: STREAM.slice(1) }],
    ['did not end with [DONE]', { outcome: 'complete' }, { sse: STREAM.slice(0, 2) }],
    ['did not end with an error', { outcome: 'error' }, { sse: STREAM }],
    ['was cut', { outcome: 'complete' }, { script: [...STREAM.map((write) => ({ write })), { reset: true }] }],
    ['half an event', { outcome: 'complete' }, { sse: [...STREAM, 'data: x'] }],
    ['events', { events: [{ data: '[DONE]' }, { data: { id: 'c' } }] }, { sse: STREAM }],
    ['noEvents', { noEvents: [{ data: '[DONE]' }] }, { sse: STREAM }],
    ['accumulated', { accumulated: { choices: [{ message: { content: 'a' } }] } }, { sse: STREAM }],
  ])('finds the fault: %s', async (fault, expected, upstream) => {
    expect(await faults(upstream, expected)).toEqual([expect.stringContaining(fault)]);
  });
});

describe('a client that leaves', () => {
  const endless: EngineScript = {
    script: [{ write: STREAM[0] ?? '' }, { write: STREAM[1] ?? '' }, { delayMs: 60_000 }],
  };

  it('leaves once it has its events, and the engine sees that', async () => {
    const expected: Expectation = { status: 200, upstreamAborted: true, events: [{ data: { id: 'c' } }] };
    expect(await faults(endless, expected, { abortAfterEvents: 1 })).toEqual([]);
  });

  it('leaves after its time, before there is a head', async () => {
    const silent: EngineScript = { script: [{ delayMs: 60_000 }] };
    expect(await faults(silent, { upstreamAborted: true }, { abortAfterMs: 100 })).toEqual([]);
  });

  it('is not taken for one where the engine has finished', async () => {
    const found = await faults({ sse: STREAM }, { upstreamAborted: true });
    expect(found).toEqual([expect.stringContaining('upstreamAborted')]);
  }, 15_000);
});
