import { RequestRecord } from '../../../common/request-record.js';
import { History, type Level } from './history.js';

const EVERY_MS = 2000;
const level = (running: number, fields: Partial<Level> = {}): Level => ({
  upstream: 'reasoning',
  running,
  waiting: 0,
  saturation: 0,
  kv: undefined,
  ...fields,
});
const ended = (fields: Partial<RequestRecord> = {}): RequestRecord =>
  Object.assign(new RequestRecord('a', 1000, () => undefined), { upstream: 'reasoning', endedAt: 1500 }, fields);
const running = (history: History): (number | null | undefined)[] | undefined =>
  history.pages().upstreams['reasoning']?.map((row) => (row === null ? null : row[0]));

it('keeps so many samples on the grid of the wall clock, oldest first, and drops what is older', () => {
  const history = new History(['reasoning'], EVERY_MS, 3);
  expect(history.pages()).toMatchObject({ newest: 0, upstreams: { reasoning: [] } });
  for (let at = 1; at <= 5; at += 1) history.sample([level(at)], at * EVERY_MS + 7);
  expect(running(history)).toEqual([3, 4, 5]);
  expect(history.pages()).toMatchObject({ everyMs: EVERY_MS, newest: 5 });
  expect(history.newest).toMatchObject({ index: 5 });
});

it('leaves a hole where a moment was missed, and forgets everything over a long sleep', () => {
  const history = new History(['reasoning'], EVERY_MS, 4);
  history.sample([level(1)], EVERY_MS);
  history.sample([level(4)], 4 * EVERY_MS);
  expect(running(history)).toEqual([1, null, null, 4]);
  history.sample([level(9)], 900 * EVERY_MS);
  expect(running(history)).toEqual([9]);
});

it('takes no sample twice for one moment, nor one for a moment that is over', () => {
  const history = new History(['reasoning'], EVERY_MS, 4);
  history.sample([level(1)], 10 * EVERY_MS);
  history.sample([level(2)], 10 * EVERY_MS + 500);
  history.sample([level(3)], 3 * EVERY_MS);
  expect(running(history)).toEqual([1]);
});

it('counts what was served, what was turned away, and the slowest first content, from one sample to the next', () => {
  const history = new History(['reasoning'], EVERY_MS, 4);
  history.count(ended({ firstContentAt: 1200 }));
  history.count(ended({ firstContentAt: 1300.4 }));
  history.count(ended({ problem: 'queue-full' }));
  history.count(ended({ clientGone: true }));
  history.count(ended({ upstream: 'none', problem: 'not-found' }));
  history.sample([level(2, { waiting: 3, saturation: 0.33333, kv: 0.98765 })], EVERY_MS);
  history.sample([level(0)], 2 * EVERY_MS);
  expect(history.pages().series).toEqual(['running', 'waiting', 'saturation', 'kv', 'served', 'rejected', 'firstMs']);
  expect(history.pages().upstreams['reasoning']).toEqual([
    [2, 3, 0.333, 0.988, 2, 1, 300],
    [0, 0, 0, null, 0, 0, null],
  ]);
});
