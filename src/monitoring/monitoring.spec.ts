import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import { MONITORING_FILES } from '../cli/dashboard.command.js';
import { NODE_SERIES, SERIES, type SeriesDefinition } from '../modules/telemetry/series.js';
import { ALERTS } from './alerts.js';
import { grafanaDashboard } from './grafana-dashboard.js';
import { ROWS } from './panels.js';
import { series } from './promql.js';
import { ruleGroups, runbookAnchor } from './prometheus-rule.js';

const root = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const TESTS = root('src/monitoring/alerts.test.yaml');
const ALL: Readonly<Record<string, SeriesDefinition>> = { ...SERIES, ...NODE_SERIES };
const TARGET_LABELS = ['job', 'instance', 'pod'];

const QUERIES = ROWS.flatMap(({ panels }) =>
  panels.flatMap(({ title, queries }) => queries.map(({ expr, legend }) => ({ title, expr, legend }))),
);
/** Everything that Prometheus will be asked, by where it is asked. */
const EXPRESSIONS: readonly (readonly [string, string])[] = [
  ...ALERTS.map(({ name, expr }) => [name, expr.text] as const),
  ...QUERIES.map(({ title, expr }) => [title, expr.text] as const),
];

/** Series that an expression names, without the endings of a histogram's parts. */
function seriesIn(text: string): string[] {
  const words = text.replaceAll(/"[^"]*"/g, '').match(/[a-z]+(?:_[a-z0-9]+)+/g) ?? [];
  return words
    .filter((word) => word !== 'histogram_quantile' && word !== '__rate_interval' && !/^rate_interval$/.test(word))
    .map((word) => word.replace(/_(bucket|sum|count)$/, (end) => (ALL[word] === undefined ? '' : end)));
}

/** Labels that an expression selects, groups or matches by. */
const labelsIn = (text: string): string[] => [
  ...[...text.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => label),
  ...[...text.matchAll(/(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', ')),
];

describe('what Prometheus is asked', () => {
  it.each(EXPRESSIONS)('%s names only series and labels that there are: %s', (_, text) => {
    const names = seriesIn(text);
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name) => ALL[name] === undefined)).toEqual([]);
    const allowed = new Set([...names.flatMap((name) => ALL[name]?.labels ?? []), ...TARGET_LABELS, 'le']);
    expect(labelsIn(text).filter((label) => !allowed.has(label))).toEqual([]);
  });

  it.each(QUERIES)('$title is called by labels that its lines have: $legend', ({ expr, legend }) => {
    const named = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
    expect(named.filter((label) => !expr.labels.includes(label as string))).toEqual([]);
  });

  it('cannot be written with a series or a label that there is not', () => {
    // @ts-expect-error there is no such series
    expect(() => series('slots_limits')).toThrow();
    // @ts-expect-error it has no such label: what is thrown at is the compiler
    expect(series('slots_limit', { upstream: 'a' }).sum('tenant').text).toContain('tenant');
  });

  it('shows every series of the list', () => {
    const shown = new Set(QUERIES.flatMap(({ expr }) => seriesIn(expr.text)));
    expect(Object.keys(SERIES).filter((name) => !shown.has(name))).toEqual([]);
  });

  it('is valid PromQL', async () => {
    const record = QUERIES.map(({ expr }, i) => ({
      record: `panel:${i}`,
      expr: expr.text.replaceAll('$__rate_interval', '5m'),
    }));
    const { code, output } = await promtool(['check', 'rules', 'rules.yaml'], {
      groups: [{ name: 'all', rules: record }],
    });
    expect([code, output]).toEqual([0, expect.stringContaining(`${record.length} rules found`)]);
  });
});

describe('the dashboard', () => {
  const dashboard = grafanaDashboard();

  it('lays its panels side by side, none over another', () => {
    const taken = new Set<string>();
    for (const panel of dashboard.panels as { gridPos: { x: number; y: number; w: number; h: number } }[]) {
      const { x, y, w, h } = panel.gridPos;
      for (let column = x; column < x + w; column += 1)
        for (let line = y; line < y + h; line += 1) {
          expect(taken.has(`${column},${line}`)).toBe(false);
          taken.add(`${column},${line}`);
        }
      expect(x + w).toBeLessThanOrEqual(24);
    }
    const ids = (dashboard.panels as { id: number }[]).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('the committed files', () => {
  it.each(Object.entries(MONITORING_FILES))('k8s/%s is what is generated (npm run dashboard)', async (name, text) => {
    expect(await readFile(root(`k8s/${name}`), 'utf8')).toBe(text());
  });

  it('hold the same rules as are tested', async () => {
    const rule = parse(await readFile(root('k8s/prometheus-rule.yaml'), 'utf8')) as { kind: string; spec: unknown };
    expect(rule.kind).toBe('PrometheusRule');
    expect(rule.spec).toEqual(ruleGroups());
  });
});

describe('the alerts', () => {
  it('are rules that Prometheus takes', async () => {
    const { code, output } = await promtool(['check', 'rules', 'rules.yaml']);
    expect([code, output]).toEqual([0, expect.stringContaining(`${ALERTS.length} rules found`)]);
  });

  it('fire where they have to, and nowhere else', async () => {
    const { code, output } = await promtool(['test', 'rules', 'alerts.test.yaml']);
    expect([code, output]).toEqual([0, expect.stringContaining('SUCCESS')]);
  });

  it.each(ALERTS.map(({ name }) => name))('%s has a test of each kind', async (name) => {
    const { tests } = parse(await readFile(TESTS, 'utf8')) as { tests: { alert_rule_test: AlertTest[] }[] };
    const own = tests.flatMap((test) => test.alert_rule_test).filter(({ alertname }) => alertname === name);
    expect(own.some(({ exp_alerts = [] }) => exp_alerts.length > 0)).toBe(true);
    expect(own.some(({ exp_alerts = [] }) => exp_alerts.length === 0)).toBe(true);
  });

  it.each(ALERTS)('$name says what to do in the runbook', async (alert) => {
    const [file = '', anchor = ''] = runbookAnchor(alert).split('#');
    const headings = [...(await readFile(root(file), 'utf8')).matchAll(/^## (.+)$/gm)].map(([, text = '']) => text);
    expect(headings.map((text) => text.toLowerCase())).toContain(anchor);
  });

  it('have names of their own, and say which thing is meant', () => {
    expect(new Set(ALERTS.map(({ name }) => name)).size).toBe(ALERTS.length);
    for (const { expr, summary, description } of ALERTS) {
      const named = [...(summary + description).matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label);
      expect(named.filter((label) => !expr.labels.includes(label as string))).toEqual([]);
    }
  });
});

interface AlertTest {
  readonly alertname: string;
  readonly exp_alerts?: readonly unknown[];
}

/** Runs Prometheus's own tool beside a file of rules and the tests of the alerts. */
async function promtool(
  args: readonly string[],
  rules: object = ruleGroups(),
): Promise<{ code: number; output: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'alerts-'));
  try {
    await writeFile(join(folder, 'rules.yaml'), stringify(rules));
    await copyFile(TESTS, join(folder, 'alerts.test.yaml'));
    return await new Promise((resolve, reject) => {
      execFile('promtool', [...args], { cwd: folder }, (error, stdout, stderr) => {
        if (error !== null && typeof error.code !== 'number')
          reject(new Error('promtool cannot be run', { cause: error }));
        else resolve({ code: Number(error?.code ?? 0), output: stdout + stderr });
      });
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}
