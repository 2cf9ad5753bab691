import type { ProblemCode } from '../../../common/problem/problems.js';
import { RequestRecord } from '../../../common/request-record.js';
import { Moments } from './moments.js';
import { RejectionBook, summedRejections } from './rejection-book.js';

const AT = new Moments(1_000_000, 1_000_000);

function rejected(tenant: string, problem: ProblemCode, endedAt: number): RequestRecord {
  const principal = { tenant, band: 'bronze', scopes: undefined };
  const made = new RequestRecord(`${tenant}-${endedAt}`, endedAt - 5, () => undefined);
  return Object.assign(made, { upstream: 'reasoning', principal, problem, status: 503, endedAt });
}

it('tells a storm once, with its newest request and its beginning, and what came before it still', () => {
  const book = new RejectionBook();
  book.add(rejected('quiet', 'upstream-timeout', 100));
  for (let at = 1; at <= 5000; at += 1) {
    book.add(rejected('one', 'queue-full', 100 + at));
    book.add(rejected('two', 'queue-full', 100 + at));
  }
  expect(book.newest(AT)).toMatchObject([
    { tenant: 'two', reason: 'queue_full', times: 5000, requestId: 'two-5100', sinceMs: 101 },
    { tenant: 'one', reason: 'queue_full', times: 5000 },
    { tenant: 'quiet', reason: 'upstream_timeout', times: 1 },
  ]);
});

it('begins anew after ten minutes of quiet', () => {
  const book = new RejectionBook();
  book.add(rejected('one', 'queue-full', 1));
  book.add(rejected('one', 'queue-full', 600_000));
  expect(book.newest(AT)).toMatchObject([{ times: 2 }]);
  book.add(rejected('one', 'queue-full', 1_200_001));
  expect(book.newest(AT)).toMatchObject([{ times: 1, sinceMs: 1_200_001 }]);
});

it('remembers 64 kinds, whatever callers call themselves', () => {
  const book = new RejectionBook();
  for (let at = 0; at < 1000; at += 1) book.add(rejected(`tenant-${at}`, 'queue-full', at));
  const kept = book.newest(AT);
  expect(kept).toHaveLength(64);
  expect(kept[0]?.tenant).toBe('tenant-999');
});

it('tells tokens apart by what was wrong with them', () => {
  const book = new RejectionBook();
  const refused = (cause: string, endedAt: number): RequestRecord =>
    Object.assign(rejected('', 'unauthenticated', endedAt), { cause, principal: undefined });
  for (const [at, cause] of ['expired', 'signature', 'expired'].entries()) book.add(refused(cause, at));
  expect(book.newest(AT)).toMatchObject([
    { reason: 'unauthenticated', why: 'expired', times: 2 },
    { reason: 'unauthenticated', why: 'signature', times: 1 },
  ]);
});

it('are added up over several processes, each kind with the newest of them all', () => {
  const [one, two] = [new RejectionBook(), new RejectionBook()];
  for (const at of [10, 20, 50]) one.add(rejected('acme', 'queue-full', at));
  for (const at of [5, 40]) two.add(rejected('acme', 'queue-full', at));
  two.add(rejected('bolt', 'queue-full', 45));
  expect(summedRejections([two.newest(AT), one.newest(AT)])).toMatchObject([
    { tenant: 'acme', times: 5, sinceMs: 5, requestId: 'acme-50' },
    { tenant: 'bolt', times: 1, requestId: 'bolt-45' },
  ]);
});
