import { RequestRecord } from '../../../common/request-record.js';
import { Moments } from './moments.js';
import { RequestBook, summedLists, summedStories } from './request-book.js';

/** A record of a request that arrived at 1000. */
function record(requestId: string, fields: Partial<RequestRecord> = {}): RequestRecord {
  const principal = { tenant: 'acme', band: 'gold', scopes: undefined };
  const made = new RequestRecord(requestId, 1000, () => undefined);
  return Object.assign(
    made,
    { route: '/v1/chat/completions', method: 'POST', upstream: 'reasoning', principal },
    fields,
  );
}
const ended = (requestId: string, fields: Partial<RequestRecord> = {}): RequestRecord =>
  record(requestId, { status: 200, phase: 'done', endedAt: 1500, ...fields });
/** 2000 on the monotonic clock is a million seconds after 1970. */
const AT = new Moments(2000, 1_000_000_000);
const empty = (): RequestBook => new RequestBook(() => []);

describe('the stories', () => {
  it('tell a wait with everything that held it, a place, the first content and the end', () => {
    const book = empty();
    const waited = ended('a', {
      endedAt: 1900.4,
      ...{ queuedAt: 1010, queuedBehind: 3, queuedMs: 400, dispatchedAt: 1410.2, endpoint: '10.0.0.1:8000' },
      ...{ firstContentAt: 1600, upstreamEndedAt: 1890, upstreamOutcome: 'ok', model: 'reasoning' },
      usage: { promptTokens: 12, completionTokens: 34, cachedTokens: 5, reasoningTokens: 0 },
      estimatedPromptTokens: 10,
    });
    waited.heldBy('limit', 1010);
    waited.heldBy('count', 1200);
    book.add(waited);
    const [story] = book.stories('a', AT);
    expect(story?.steps.map(({ what, afterMs }) => [what, afterMs])).toEqual([
      ['arrived', 0],
      ['identified', undefined],
      ['queued', 10],
      ['held', 10],
      ['held', 200],
      ['granted', 410],
      ['first-content', 600],
      ['engine-ended', 890],
      ['ended', 900],
    ]);
    expect(story?.steps[2]?.facts).toEqual({ upstream: 'reasoning', model: 'reasoning', behind: 3 });
    expect(story?.steps[4]?.facts).toEqual({ test: 'count' });
    expect(story?.steps[5]?.facts).toEqual({ endpoint: '10.0.0.1:8000', waitedMs: 400 });
    expect(story).toMatchObject({ live: false, status: 200, arrivedAtMs: 999_999_000, tookMs: 900, waitedMs: 400 });
    expect(story).toMatchObject({ promptTokens: 12, cachedTokens: 5, completionTokens: 34, estimatedPromptTokens: 10 });
  });

  it('tell of tests that take turns without end the first ones and the last', () => {
    const book = empty();
    const torn = ended('a', { queuedAt: 1000, queuedBehind: 0, queuedMs: 400 });
    for (let at = 0; at < 100; at += 1) torn.heldBy(`test-${at}`, 1000 + at);
    book.add(torn);
    const held = book.stories('a', AT)[0]?.steps.filter(({ what }) => what === 'held') ?? [];
    expect(held).toHaveLength(12);
    expect([held[0]?.facts['test'], held[11]?.facts['test']]).toEqual(['test-0', 'test-99']);
  });

  it('leave out what held a request that got its place at once', () => {
    const book = empty();
    const quick = ended('a', { queuedAt: 1001, queuedBehind: 2, dispatchedAt: 1001 });
    quick.heldBy('count', 1001);
    book.add(quick);
    expect(book.stories('a', AT)[0]?.steps.map(({ what }) => what)).not.toContain('held');
    expect(book.stories('a', AT)[0]?.steps.at(2)?.facts['behind']).toBeUndefined();
  });

  it('say why a request was turned away, and in which phase a client left', () => {
    const book = empty();
    book.add(ended('full', { status: 503, problem: 'queue-full', phase: 'queued' }));
    book.add(ended('left', { status: 0, clientGone: true, phase: 'streaming' }));
    expect(book.stories('full', AT)[0]?.steps.at(-1)?.facts).toMatchObject({
      status: 503,
      reason: 'queue-full',
      title: 'The queue is full',
    });
    expect(book.stories('left', AT)[0]).toMatchObject({ status: 499 });
    expect(book.stories('left', AT)[0]?.steps.at(-1)?.facts).toMatchObject({ clientGone: true, phase: 'streaming' });
  });

  it('tell of a request that runs: until now, and without an end', () => {
    const running = record('a', { phase: 'queued', queuedAt: 1200 });
    const [story] = new RequestBook(() => [running]).stories('a', AT);
    expect(story).toMatchObject({ live: true, status: undefined, tookMs: 1000, waitedMs: 800 });
    expect(story?.steps.map(({ what }) => what)).toEqual(['arrived', 'identified', 'queued']);
  });

  it('tell all that have the id, the running one and the newest first, and no more than five', () => {
    const book = new RequestBook(() => [record('a')]);
    for (let status = 200; status < 210; status += 1) book.add(ended('a', { status }));
    book.add(ended('b'));
    expect(book.stories('a', AT).map(({ status }) => status)).toEqual([undefined, 209, 208, 207, 206]);
    expect(book.stories('nobody', AT)).toEqual([]);
  });

  it('are forgotten when 2000 others have ended since', () => {
    const book = empty();
    book.add(ended('old'));
    for (let at = 0; at < 1999; at += 1) book.add(ended(`new-${at}`));
    expect(book.stories('old', AT)).toHaveLength(1);
    book.add(ended('one-more'));
    expect(book.stories('old', AT)).toEqual([]);
  });
});

it('keeps nothing that a cause refers to', () => {
  const book = empty();
  const failed = ended('a', { problem: 'internal', cause: new Error('what a client wrote') });
  book.add(failed);
  expect(failed.cause).toBeUndefined();
  expect(JSON.stringify(book.stories('a', AT))).not.toContain('what a client wrote');
});

it('keeps of a cause in words the first, which says what was wrong', () => {
  const book = empty();
  book.add(ended('a', { problem: 'unauthenticated', status: 401, cause: 'malformed: eyJhbGciOi' }));
  book.add(ended('b', { problem: 'upstream-refused-us', cause: 'status 403' }));
  expect(book.stories('a', AT)[0]).toMatchObject({ reason: 'unauthenticated', why: 'malformed' });
  expect(book.stories('a', AT)[0]?.steps.at(-1)?.facts).toMatchObject({ why: 'malformed' });
  expect(JSON.stringify([book.stories('a', AT), book.lists(AT)])).not.toContain('eyJ');
  expect(book.stories('b', AT)[0]?.why).toBeUndefined();
});

it('puts the lists and stories of several processes in one order', () => {
  const at = (arrivedAt: number, endedAt = 0): RequestRecord =>
    Object.assign(new RequestRecord(`r${arrivedAt}`, arrivedAt, () => undefined), { endedAt });
  const one = new RequestBook(() => [at(1500)]);
  const two = new RequestBook(() => [at(1400), at(1600)]);
  for (let ends = 0; ends < 12; ends += 1) (ends % 2 === 0 ? one : two).add(at(1000 + ends, 1800 + ends));
  const lists = summedLists([one.lists(AT), two.lists(AT)]);
  expect(lists.running).toMatchObject({ count: 3, longest: [{ requestId: 'r1400' }, { requestId: 'r1500' }, {}] });
  expect(lists.recent.map(({ requestId }) => requestId)).toEqual(
    Array.from({ length: 10 }, (_, back) => `r${1011 - back}`),
  );
  const same = [one, two].map((book) => [...book.stories('r1500', AT), ...book.stories('r1011', AT)]);
  expect(summedStories(same).map(({ requestId, live }) => [requestId, live])).toEqual([
    ['r1500', true],
    ['r1011', false],
  ]);
});

it('tells the longest of those that run, and how many there are', () => {
  const live = Array.from({ length: 30 }, (_, at) =>
    Object.assign(new RequestRecord(`r${at}`, 2000 - at, () => undefined), { phase: 'streaming' }),
  );
  const { count, longest } = new RequestBook(() => live).lists(AT).running;
  expect(count).toBe(30);
  expect(longest).toHaveLength(10);
  expect(longest[0]).toMatchObject({ requestId: 'r29', tookMs: 29 });
});
