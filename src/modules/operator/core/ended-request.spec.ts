import { RequestRecord } from '../../../common/request-record.js';
import { EndedRequest } from './ended-request.js';

const TIMES = ['queuedAt', 'dispatchedAt', 'firstContentAt', 'upstreamEndedAt'] as const;
const INNER = ['queued', 'dispatched', 'firstContent', 'upstreamEnded', 'counted', 'used'];
const PLAIN = Object.keys(new EndedRequest()).filter((name) => !INNER.includes(name));
const USAGE = { promptTokens: 4, cachedTokens: 3, completionTokens: 2, reasoningTokens: 1 };

const told = (ended: EndedRequest): Record<string, unknown> =>
  Object.fromEntries([...PLAIN, ...TIMES, 'usage'].map((name) => [name, ended[name as keyof EndedRequest]]));

it('keeps all that it has a place for, and nothing of the one before', () => {
  const first = new RequestRecord('a', 1, () => undefined);
  const facts = Object.fromEntries([
    ...PLAIN.map((name, at) => [name, `value ${at}`] as const),
    ...TIMES.map((name, at) => [name, at] as const),
    ['usage', USAGE] as const,
  ]);
  Object.assign(first, facts);
  const ended = new EndedRequest();
  ended.note(first);
  expect(told(ended)).toEqual(facts);
  ended.note(new RequestRecord('b', 2, () => undefined));
  const changed = { requestId: 'b', arrivedAt: 2, route: 'none', upstream: 'none', peerAddress: 'unknown' };
  expect(told(ended)).toEqual({ ...told(new EndedRequest()), ...changed });
  expect([ended.queuedAt, ended.usage]).toEqual([undefined, undefined]);
});

it('keeps usage as it was when the request ended', () => {
  const record = new RequestRecord('a', 1, () => undefined);
  const usage = { ...USAGE };
  record.usage = usage;
  const ended = new EndedRequest();
  ended.note(record);
  usage.promptTokens = 99;
  expect(ended.usage).toEqual(USAGE);
});
