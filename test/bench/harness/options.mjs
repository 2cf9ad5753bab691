import { parseArgs } from 'node:util';
import { BASELINE, MODE_NAMES, USUAL_MODES } from './modes.mjs';
import { TARGET_NAMES } from './targets.mjs';

export const USAGE = `npm run bench -- [options]
  --mode LIST     ${MODE_NAMES.join(', ')}; without it all but growth, which takes minutes
  --only LIST     ${TARGET_NAMES.join(', ')}; without it all that can be measured here
  --rounds N      slices that each target gets in each start; 11
  --starts N      how often everything is started afresh; 3
  --scale X       0.01 to 1: shortens the slices so much, and warming up by the root of it; 1
  --write         puts the figures into docs/bench.md, docs/bench.json and the table of README.md; modes that were not
                  measured keep what they have
  --profile DIR   the gateway leaves a .cpuprofile in that folder each time it ends; what it costs is then not its own
  --out FILE      puts the figures of this run into a file, as JSON`;

const OPTIONS = {
  mode: { type: 'string', default: USUAL_MODES.join(',') },
  only: { type: 'string', default: TARGET_NAMES.join(',') },
  rounds: { type: 'string', default: '11' },
  starts: { type: 'string', default: '3' },
  scale: { type: 'string', default: '1' },
  write: { type: 'boolean', default: false },
  profile: { type: 'string' },
  out: { type: 'string' },
  help: { type: 'boolean', default: false },
};

/** What was asked for on the command line. Throws with what is wrong and what is allowed. */
export function readOptions(args) {
  const { values } = parseArgs({ args, options: OPTIONS });
  const only = listOf('--only', values.only, TARGET_NAMES);
  if (!only.includes(BASELINE)) throw new Error(`--only must name ${BASELINE}: the others are measured against it`);
  if (values.profile !== undefined && values.write)
    throw new Error('--write does not go with --profile: profiling costs');
  return {
    help: values.help,
    modes: listOf('--mode', values.mode, MODE_NAMES),
    only,
    rounds: numberIn('--rounds', values.rounds, { from: 1, to: 1000, whole: true }),
    starts: numberIn('--starts', values.starts, { from: 1, to: 100, whole: true }),
    scale: numberIn('--scale', values.scale, { from: 0.01, to: 1 }),
    write: values.write,
    profile: values.profile,
    out: values.out,
  };
}

/** In the order of the names, whatever order they were given in. */
function listOf(option, text, names) {
  const asked = text.split(',').map((name) => name.trim());
  const unknown = asked.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`${option}: "${unknown}" is none of ${names.join(', ')}`);
  return names.filter((name) => asked.includes(name));
}

function numberIn(option, text, { from, to, whole = false }) {
  const value = Number(text);
  if (text.trim() !== '' && value >= from && value <= to && (!whole || Number.isInteger(value))) return value;
  throw new Error(`${option}: "${text}" is not a ${whole ? 'whole ' : ''}number from ${from} to ${to}`);
}
