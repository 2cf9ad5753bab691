import { LinePage } from './line-page.js';

it('gives back what was added in its order, once', () => {
  const page = new LinePage();
  expect(page.take().toString()).toBe('');
  for (const line of ['one\n', 'zwei: ä\n', 'drei: 🚦\n']) expect(page.add(line)).toBe(true);
  expect(page.take().toString()).toBe('one\nzwei: ä\ndrei: 🚦\n');
  expect(page.take().toString()).toBe('');
});

it('refuses a line that may not fit, whatever it consists of, and takes it when it is empty again', () => {
  const page = new LinePage();
  const line = `${'語'.repeat(9_999)}\n`;
  const added = [1, 2, 3].map(() => page.add(line));
  expect(added).toEqual([true, true, false]);
  expect(page.take().toString()).toBe(line + line);
  expect(page.add(line)).toBe(true);
  expect(page.take().toString()).toBe(line);
  expect(page.add('x'.repeat(65_536))).toBe(false);
});
