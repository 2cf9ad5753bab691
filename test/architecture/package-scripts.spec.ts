import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const { scripts } = JSON.parse(readFileSync(fileURLToPath(new URL('../../package.json', import.meta.url)), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

/** What needs dist: the gateway itself, and the scripts that run it. */
const NEEDS_BUILD = /dist\/|scripts\/(?:check-schema|run-tests|take-screenshots)|test\/bench\//u;

it('builds before it runs what was built, so that nothing stale is taken for the source', () => {
  const running = Object.entries(scripts).filter(([, command]) => NEEDS_BUILD.test(command));
  expect(running.map(([name]) => name)).toEqual(expect.arrayContaining(['start', 'schema', 'schema:check', 'test']));
  for (const [name, command] of running)
    expect([name, command]).toEqual([name, expect.stringMatching(/^npm run --silent build && /u)]);
});

it('leaves no shell between npm and the demo, which would keep signals to itself', () => {
  expect(scripts['start']).toMatch(/ && exec node dist\/main\.js demo$/u);
});
