/** What the page makes of numbers; the rest of it is seen in a browser, by test/e2e. */
interface Words {
  duration(ms: number): string;
  short(value: number): string;
  bytes(count: number): string;
  percent(share: number): string;
  plural(count: number, one: string, many?: string): string;
}
interface Links {
  hrefOf(id: string): string;
  requestIn(hash: string): string | undefined;
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
