/** What the page makes of numbers; the rest of it is seen in a browser, by test/e2e. */
interface Words {
  duration(ms: number): string;
  short(value: number): string;
  bytes(count: number): string;
  percent(share: number): string;
  plural(count: number, one: string, many?: string): string;
}
interface Sharing {
  sharingWords(about: object, snapshot: object): string;
  sharingNotices(snapshot: object, about: object): { text: string }[];
}
interface Links {
  hrefOf(id: string): string;
  requestIn(hash: string): string | undefined;
}
interface Past {
  readonly width: number;
  replace(pages: object): void;
  add(sample: object): boolean;
  of(upstream: string, name: string): (number | null)[];
}
const load = async <T>(name: string): Promise<T> => (await import(`./page/${name}`)) as T;

it.each([
  [0, '0 ms'],
  [999.4, '999 ms'],
  [1000, '1.0 s'],
  [9949, '9.9 s'],
  [9950, '10 s'],
  [59_400, '59 s'],
  [59_600, '1 min'],
  [125_000, '2 min 5 s'],
  [3_599_600, '1 h'],
  [3_725_000, '1 h 2 min'],
])('%d ms is %s', async (ms, text) => {
  expect((await load<Words>('words.js')).duration(ms)).toBe(text);
});

it('writes counts, sizes and shares with their units', async () => {
  const { short, bytes, percent, plural } = await load<Words>('words.js');
  expect([short(950), short(12_340), short(250_000), short(3_100_000)]).toEqual(['950', '12.3 k', '250 k', '3.1 M']);
  expect([bytes(10), bytes(2048), bytes(3 * 1024 * 1024)]).toEqual(['10 B', '2.0 KiB', '3.0 MiB']);
  expect([percent(0), percent(0.754), percent(1.2)]).toEqual(['0 %', '75 %', '120 %']);
  expect([plural(1, 'waits', 'wait'), plural(1234, 'request')]).toEqual(['1 waits', '1,234 requests']);
});

it('finds in an address the id that was put there, and nothing in any other', async () => {
  const { hrefOf, requestIn } = await load<Links>('request-link.js');
  for (const id of ['a-1', '<img src=x>', 'ä %', '']) expect(requestIn(hrefOf(id))).toBe(id);
  expect([requestIn(''), requestIn('#upstreams'), requestIn('#request=%')]).toEqual([undefined, undefined, '%']);
});

describe('what is said of other gateways and processes', () => {
  const about = (replicas: number, admission: string, budgets = 'memory') => ({
    sharing: { replicas, admission, budgets },
    workers: 2,
  });
  const ok = { out: { admission: false, budgets: false }, state: 'serving' };

  it.each([
    [about(1, 'none'), 'The only gateway: it has the engines to itself.'],
    [
      about(3, 'none'),
      'One of 3 gateways: each keeps to its share of the engines, and each grants its share of the budgets.',
    ],
    [
      about(3, 'peers', 'redis'),
      'One of 3 gateways: they tell each other what they hold, and one store counts the budgets.',
    ],
    [about(2, 'redis', 'redis'), 'One of 2 gateways: one store counts every slot, and one store counts the budgets.'],
  ])('is how they share %#', async (shared, words) => {
    const { sharingWords, sharingNotices } = await load<Sharing>('sharing.js');
    expect(sharingWords(shared, ok)).toBe(words);
    expect(sharingNotices(ok, shared)).toEqual([]);
  });

  it.each([
    ['peers', /^Other gateways do not answer: this one keeps to its share/],
    ['redis', /^The store that counts the slots is out: this gateway keeps to its share/],
  ])('is what is out: %s', async (mode, text) => {
    const { sharingNotices } = await load<Sharing>('sharing.js');
    const out = { admission: true, budgets: true };
    const notices = sharingNotices({ ...ok, out }, about(3, mode)).map((one) => one.text);
    expect(notices).toEqual([expect.stringMatching(text), expect.stringMatching(/^The store that counts the budgets/)]);
  });

  it('is which processes serve, which of them end, are silent, or are not there', async () => {
    const { sharingWords, sharingNotices } = await load<Sharing>('sharing.js');
    const worker = (at: number, fields: object = {}) => ({
      worker: at,
      pid: 100 + at,
      state: 'serving',
      ageMs: 3,
      ...fields,
    });
    const workers = [worker(1, { state: 'draining' }), worker(2, { ageMs: 4200 })];
    expect(sharingWords(about(1, 'none'), { ...ok, workers })).toMatch(
      / Put together from 2 worker processes: 1 \(101, draining\), 2 \(102\)\.$/,
    );
    expect(sharingNotices({ ...ok, workers }, about(1, 'none')).map(({ text }) => text)).toEqual([
      'Worker 2 (process 102) does not answer: its part of the figures is 4.2 s old.',
      expect.stringMatching(/^1 of 2 workers does not serve, /),
    ]);
    expect(sharingNotices({ ...ok, state: 'draining', workers: [] }, about(1, 'none'))).toEqual([]);
  });
});

it('leaves holes for samples that were missed, and none before the first one', async () => {
  const { History } = await load<{ History: new () => Past }>('history.js');
  const past = new History();
  past.replace({ everyMs: 1000, series: ['running'], newest: 0, upstreams: { reasoning: [] } });
  expect(past.add({ index: 5000, upstreams: { reasoning: [1] } })).toBe(true);
  expect([past.of('reasoning', 'running'), past.width]).toEqual([[1], 60]);
  past.add({ index: 5002, upstreams: { reasoning: [2] } });
  expect(past.add({ index: 5002, upstreams: { reasoning: [3] } })).toBe(false);
  expect(past.of('reasoning', 'running')).toEqual([1, null, 2]);
});
