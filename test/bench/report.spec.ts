import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseJson } from '../support/json.js';

interface Report {
  reportText(modes: unknown): string;
  writeReport(modes: unknown, root: URL): void;
}
const load = (): Promise<Report> => import(new URL('report/write-report.mjs', import.meta.url).href) as Promise<Report>;

const run = {
  conditions: { day: '2026-01-02', machine: 'a machine', apart: true, load: '0.1', versions: { node: '24.0.0' } },
  rounds: 3,
  scale: 1,
};
const slices = (...cpuMicros: (number | null)[]) => ({ cpuMicros, p50Micros: [100, 200, 300], p99Micros: [1, 1, 1] });
const unary = {
  run,
  starts: [
    { bare: slices(50, 100, 100), gateway: slices(75, 150, 160), nginx: slices(25, null, 50) },
    { bare: slices(100, 100, 100), gateway: slices(150, 140, 200), nginx: slices(null, null, null) },
  ],
};
const parked = {
  run,
  starts: [
    {
      bare: { streams: 1024, idleMebibytes: 100, heldMebibytes: 120 },
      gateway: { streams: 1024, idleMebibytes: 150, heldMebibytes: 180 },
      'gateway, waiting': { streams: 1024, idleMebibytes: 150, heldMebibytes: 155 },
    },
  ],
};
const readings = (...mebibytes: number[]) => mebibytes.map((each, at) => ({ done: 10 * (at + 1), mebibytes: each }));
const growing = { warmMebibytes: 90, chunks: readings(95, 100, 105), aborts: readings(110, 120, 120) };
const growth = { run, starts: [{ bare: growing, gateway: { ...growing, chunks: readings(90, 100, 140) } }] };
const cellsOf = (text: string, label: string): readonly string[] =>
  (text.split('\n').find((line) => line.startsWith(`| ${label}`)) ?? '')
    .split('|')
    .map((cell) => cell.trim())
    .slice(1, -1);

describe('the table', () => {
  it('has the median of the ratios, each taken within its round, and what the base costs', async () => {
    const { reportText } = await load();
    const cells = cellsOf(reportText({ unary }), 'CPU per request, 1 KB, 32');
    expect(cells.slice(1)).toEqual(['1 (100 µs)', '1.50 (1.50–1.58)', '0.50 (0.50–0.50)', '≤ 1.5']);
  });

  it('leaves out what was not measured, and shows a stream that waits beside one that is parked', async () => {
    const { reportText } = await load();
    const text = reportText({ parked });
    expect(text).not.toMatch(/CPU per request|nginx/);
    expect(cellsOf(text, 'memory with 1,000')[2]).toBe('1.50 (1.50–1.50)');
    expect(cellsOf(text, 'memory for a parked')[2]).toBe('30.0 (30.0–30.0)');
    expect(cellsOf(text, '… that waits')[2]).toBe('5.00 (5.00–5.00)');
  });
});

describe('the tables of the modes', () => {
  it('show each start, and every reading of a memory', async () => {
    const { reportText } = await load();
    const text = reportText({ unary, growth });
    const details = text.slice(text.indexOf('### unary'));
    expect(cellsOf(details, 'gateway |')).toEqual(['gateway', '150', '1.50', '1.50–1.58', '1.50, 1.50', '200', '1.00']);
    expect(cellsOf(details, 'gateway, 30 chunks')).toEqual(['gateway, 30 chunks', '90.0', '90.0', '100', '140']);
    expect(cellsOf(text, 'memory after 1,000,000').slice(1)).toEqual([
      '1.05 (1.05–1.05)',
      '1.40 (1.40–1.40)',
      '–',
      '1',
    ]);
  });
});

describe('what is written', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'bench-report-'));
    mkdirSync(join(root, 'docs'));
    const marked = 'above\n<!-- bench: written by npm run bench -- --write -->\nold\n<!-- /bench -->\nbelow\n';
    for (const file of ['README.md', 'docs/bench.md']) writeFileSync(join(root, file), marked);
  });
  afterEach(() => rmSync(root, { recursive: true }));
  const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');
  const place = (): URL => pathToFileURL(`${root}/`);

  it('stands between the markers, and what was measured before stays', async () => {
    const { writeReport } = await load();
    writeReport({ unary }, place());
    writeReport({ parked }, place());
    for (const file of ['README.md', 'docs/bench.md']) {
      const text = textOf(file);
      expect(text).toMatch(/^above\n/);
      expect(text).toMatch(/\nbelow\n$/);
      expect(text).not.toContain('old');
      expect(text).toContain('CPU per request, 1 KB, 32 connections');
      expect(text).toContain('memory with 1,000 parked streams');
    }
    expect(textOf('docs/bench.md')).toContain(
      '2026-01-02, 2 starts of 3 rounds, on a machine, load average before 0.1.',
    );
    expect(parseJson(textOf('docs/bench.json'))).toEqual({ modes: { unary, parked } });
  });

  it('is nothing where a document has no place for it', async () => {
    const { writeReport } = await load();
    writeFileSync(join(root, 'README.md'), 'no markers\n');
    expect(() => writeReport({ unary }, place())).toThrow(/README\.md has no "<!-- bench: /);
  });
});
