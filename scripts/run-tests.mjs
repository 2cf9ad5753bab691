// Runs the tests: those that measure something one file at a time, with the machine to themselves, all others two files
// at a time before that. Any argument that chooses tests (a path, -t, --selectProjects) makes it one plain run of jest;
// the others go to each run. With --json --outputFile=FILE the reports of both runs are put together in FILE.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const JEST = fileURLToPath(new URL('../node_modules/jest/bin/jest.js', import.meta.url));
const SIDE_BY_SIDE = ['unit', 'architecture', 'deploy', 'conformance', 'e2e'];
const OUTPUT = '--outputFile=';

const args = process.argv.slice(2);
const chooses = args.some((arg) => !arg.startsWith('-') || /^(-t|--testNamePattern|--selectProjects)/.test(arg));
process.exitCode = chooses ? jest(args) : bothRuns();

function bothRuns() {
  const output = args.find((arg) => arg.startsWith(OUTPUT))?.slice(OUTPUT.length);
  const rest = args.filter((arg) => !arg.startsWith(OUTPUT));
  const runs = [
    ['--maxWorkers=2', '--selectProjects', ...SIDE_BY_SIDE],
    ['--runInBand', '--selectProjects', 'alone'],
  ];
  const parts = runs.map((_, at) => `${output}.${at}`);
  const statuses = runs.map((run, at) => {
    const report = output === undefined ? [] : [`${OUTPUT}${parts[at]}`];
    return jest([...rest, ...report, ...run]);
  });
  if (output !== undefined) putTogether(parts, output);
  return Math.max(...statuses);
}

function jest(options) {
  const command = ['--experimental-vm-modules', '--no-warnings', JEST, ...options];
  const { status, error } = spawnSync(process.execPath, command, { stdio: 'inherit' });
  if (error) throw error;
  // Ended by a signal: it has failed.
  return status ?? 1;
}

/** Where a run has left no report there is none of the whole. */
function putTogether(parts, output) {
  const reports = parts.map((part) => JSON.parse(readFileSync(part, 'utf8')));
  const whole = reports.reduce((all, report) => {
    const sums = Object.entries(report).filter(([, value]) => typeof value === 'number');
    const numbers = sums.map(([name, value]) => [name, name === 'startTime' ? all[name] : all[name] + value]);
    return {
      ...all,
      ...Object.fromEntries(numbers),
      success: all.success && report.success,
      testResults: [...all.testResults, ...report.testResults],
    };
  });
  writeFileSync(output, JSON.stringify(whole));
  parts.forEach((part) => rmSync(part));
}
