import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { parseHttpUrl } from '../common/config/addresses.js';
import { shownValue, type Difference } from './json-differences.js';
import { parseCaseFile, type ParityCase } from './parity/case-file.js';
import { compareAnswers } from './parity/compare.js';
import { fetchAnswer } from './parity/fetch-answer.js';
import { reading } from './system-errors.js';

type Print = (line: string) => void;
type Environment = Readonly<Record<string, string | undefined>>;

export const USAGE =
  'usage: gateway parity --left URL --right URL --cases FILE [--group NAME] [--timeout SECONDS]\n' +
  'Sends each request of FILE to both and prints what differs in status, headers and body.';
const DEFAULT_TIMEOUT_SECONDS = 120;
/** Of one case. */
const SHOWN_DIFFERENCES = 12;

interface Wanted {
  readonly left: URL;
  readonly right: URL;
  readonly cases: readonly ParityCase[];
  /** The longest silence of an answer. */
  readonly silenceMs: number;
}

/** Compares two gateways by their answers to the same requests: 0 where they are the same, 1 on any difference. */
export async function parityCommand(
  argv: readonly string[],
  env: Environment,
  out: Print,
  err: Print,
): Promise<number> {
  try {
    return await run(readArguments(argv, env), out);
  } catch (error) {
    err(`gateway parity: ${(error as Error).message}`);
    err(USAGE);
    return 1;
  }
}

async function run({ left, right, cases, silenceMs }: Wanted, out: Print): Promise<number> {
  let differing = 0;
  for (const [at, { name, request, compare, ignore }] of cases.entries()) {
    const [one, other] = await Promise.all([
      fetchAnswer(left, request, silenceMs),
      fetchAnswer(right, request, silenceMs),
    ]);
    const differences = compareAnswers(one, other, compare, ignore);
    if (differences.length > 0) differing++;
    const verdict = differences.length > 0 ? 'DIFFERS' : 'same';
    out(
      `[${at + 1}/${cases.length}] ${verdict.padEnd(7)} ${name}: ${request.method} ${request.path}, ` +
        `${one.status ?? 'no answer'} in ${one.tookMs} ms | ${other.status ?? 'no answer'} in ${other.tookMs} ms`,
    );
    differenceLines(differences).forEach(out);
  }
  out(
    `${cases.length} cases: ${cases.length - differing} the same, ${differing} different (left ${left.origin}, right ${right.origin})`,
  );
  return differing > 0 ? 1 : 0;
}

function differenceLines(differences: readonly Difference[]): readonly string[] {
  const shown = differences
    .slice(0, SHOWN_DIFFERENCES)
    .map(({ path, left, right }) => `      ${path}: ${shownValue(left)} | ${shownValue(right)}`);
  const left = differences.length - shown.length;
  return left > 0 ? [...shown, `      and ${left} more`] : shown;
}

function readArguments(argv: readonly string[], env: Environment): Wanted {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: { left: text, right: text, cases: text, group: text, timeout: text },
  });
  const file = values.cases;
  if (file === undefined) throw new Error('--cases FILE is missing');
  const seconds = Number(values.timeout ?? DEFAULT_TIMEOUT_SECONDS);
  if (!(seconds > 0))
    throw new Error(`--timeout must be a number of seconds above 0, not ${shownValue(values.timeout)}`);
  return {
    left: origin('--left', values.left),
    right: origin('--right', values.right),
    cases: inGroup(
      parseCaseFile(
        reading('--cases', file, () => readFileSync(file, 'utf8')),
        file,
        env,
      ),
      values.group,
    ),
    silenceMs: seconds * 1000,
  };
}

function origin(flag: string, text: string | undefined): URL {
  if (text === undefined) throw new Error(`${flag} URL is missing`);
  const url = parseHttpUrl(text);
  if (url === undefined || url.pathname !== '/' || url.search !== '')
    throw new Error(`${flag} must be an http or https URL of host and port alone, not ${JSON.stringify(text)}`);
  return url;
}

function inGroup(cases: readonly ParityCase[], group: string | undefined): readonly ParityCase[] {
  if (group === undefined) return cases;
  const found = cases.filter(({ groups }) => groups.includes(group));
  if (found.length > 0) return found;
  const known = [...new Set(cases.flatMap(({ groups }) => groups))];
  throw new Error(`--group: no case is in "${group}"; there are ${known.join(', ') || 'no groups'}`);
}
