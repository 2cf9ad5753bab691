import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { grafanaDashboardText } from '../monitoring/grafana-dashboard.js';
import { prometheusRuleText } from '../monitoring/prometheus-rule.js';
import { writing } from './system-errors.js';

type Print = (line: string) => void;

export const USAGE =
  'usage: gateway dashboard [--write FOLDER]\n' +
  'Prints the Grafana dashboard, or writes it and the alert rules into FOLDER.';

/** What is made of the list of series, by the name of the file that it is committed as. */
export const MONITORING_FILES = {
  'grafana-dashboard.json': grafanaDashboardText,
  'prometheus-rule.yaml': prometheusRuleText,
} as const;

/** Prints the Grafana dashboard, or writes it and the alert rules with `--write FOLDER`; returns the exit code. */
export function dashboardCommand(argv: readonly string[], _env: unknown, out: Print, err: Print): number {
  try {
    const { values } = parseArgs({ args: [...argv], options: { write: { type: 'string' } } });
    const folder = values.write;
    if (folder === undefined) out(grafanaDashboardText().trimEnd());
    else writeTo(folder);
    return 0;
  } catch (error) {
    err(`${(error as Error).message} (gateway dashboard [--write FOLDER])`);
    return 1;
  }
}

function writeTo(folder: string): void {
  for (const [name, text] of Object.entries(MONITORING_FILES)) {
    const file = join(folder, name);
    writing('--write', file, () => writeFileSync(file, text()));
  }
}
