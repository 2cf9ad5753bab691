import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { MODE_NAMES } from '../harness/modes.mjs';
import { detailTables, summaryTable, versionsText } from './tables.mjs';

const ROOT = new URL('../../../', import.meta.url);
/** What stands between the two is written here; everything else by people. */
const BEGIN = '<!-- bench: written by npm run bench -- --write -->';
const END = '<!-- /bench -->';

/** All that was found, for the screen. */
export const reportText = (modes) => `${summaryTable(modes, true)}\n\n${detailTables(modes)}`;

/** Puts what was found into the documents below `root`; of modes that were not measured they keep what they have. */
export function writeReport(modes, root = ROOT) {
  const figures = new URL('docs/bench.json', root);
  const before = existsSync(figures) ? JSON.parse(readFileSync(figures, 'utf8')).modes : {};
  const known = { ...before, ...modes };
  const all = Object.fromEntries(MODE_NAMES.filter((name) => name in known).map((name) => [name, known[name]]));
  const details = [summaryTable(all, true), `Versions: ${versionsText(all)}.`, detailTables(all)];
  replaceBetween(new URL('docs/bench.md', root), details.join('\n\n'));
  replaceBetween(new URL('README.md', root), summaryTable(all));
  writeFileSync(figures, figuresText(all));
}

/** JSON with a line for each start: what changes shows in a diff, and a page is not one number long. */
export function figuresText(modes) {
  const ofMode = ([name, { run, starts }]) =>
    `${JSON.stringify(name)}: { "run": ${JSON.stringify(run)}, "starts": [\n${starts.map((start) => JSON.stringify(start)).join(',\n')}\n] }`;
  return `{ "modes": {\n${Object.entries(modes).map(ofMode).join(',\n')}\n} }\n`;
}

function replaceBetween(path, text) {
  const whole = readFileSync(path, 'utf8');
  const begin = whole.indexOf(BEGIN);
  const end = whole.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`${path.pathname} has no "${BEGIN}" with "${END}" behind it`);
  writeFileSync(path, `${whole.slice(0, begin + BEGIN.length)}\n\n${text}\n\n${whole.slice(end)}`);
}
