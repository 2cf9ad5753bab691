import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { ENCODER, parseProfile, PROFILES, VOLTA, type EngineProfile } from '../sim/core/profiles.js';
import { startEcho } from '../sim/echo.js';
import { startOllama } from '../sim/ollama.js';
import { startTei } from '../sim/tei.js';
import { startVllm } from '../sim/vllm.js';
import type { SimServer } from '../sim/wire/sim-app.js';
import { inPlainWords } from './system-errors.js';

type Print = (line: string) => void;

export const USAGE =
  'usage: gateway simulate --engine vllm|ollama|tei|echo --listen HOST:PORT --models a,b [--time-scale X] ' +
  '[--profile volta|fast|slots|FILE] [--seed N] [--max-num-seqs N] [--max-model-len N] [--faults]';

const ENGINES = ['vllm', 'ollama', 'tei', 'echo'] as const;

interface Wanted {
  readonly engine: (typeof ENGINES)[number];
  readonly host: string;
  readonly port: number;
  readonly models: readonly [string, ...string[]];
  readonly timeScale: number;
  readonly seed: number;
  readonly maxModelLen: number | undefined;
  readonly profile: EngineProfile;
  readonly faultsEndpoint: boolean;
}

/** What the caller got wrong, in words for a person. */
class UsageError extends Error {}

/** Runs one simulated engine until it is told to stop. Resolves to the exit code: 1 where it could not start. */
export async function simulateCommand(
  argv: readonly string[],
  _env: Readonly<Record<string, string | undefined>>,
  out: Print,
  err: Print,
  stopped: () => Promise<void> = interrupted,
): Promise<number> {
  let server: SimServer;
  try {
    server = await start(await readArguments(argv));
  } catch (error) {
    err(`gateway simulate: ${inPlainWords(error)}`);
    if (error instanceof UsageError) err(USAGE);
    return 1;
  }
  out(`simulated engine on ${server.url}`);
  await stopped();
  await server.close();
  return 0;
}

async function readArguments(argv: readonly string[]): Promise<Wanted> {
  const values = parseFlags(argv);
  const engine = ENGINES.find((name) => name === values.engine);
  if (engine === undefined) throw new UsageError(`--engine must be one of ${ENGINES.join(', ')}`);
  const slots = readNumber('--max-num-seqs', values['max-num-seqs'], 'count');
  return {
    engine,
    ...readAddress(values.listen),
    models: readModels(values.models, engine),
    timeScale: readNumber('--time-scale', values['time-scale'], 'above 0') ?? 1,
    seed: readNumber('--seed', values.seed, 'whole') ?? 0,
    maxModelLen: readNumber('--max-model-len', values['max-model-len'], 'count'),
    profile: {
      ...(await readProfile(values.profile, engine)),
      ...(slots === undefined ? {} : { slots }),
    },
    faultsEndpoint: values.faults ?? false,
  };
}

function parseFlags(argv: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...argv],
      options: {
        engine: text,
        listen: text,
        models: text,
        'time-scale': text,
        profile: text,
        seed: text,
        'max-num-seqs': text,
        'max-model-len': text,
        faults: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function readAddress(listen: string | undefined): { host: string; port: number } {
  const found = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(listen ?? '');
  const host = found?.[1] ?? found?.[2];
  const port = Number(found?.[3]);
  if (host === undefined || port > 65_535)
    throw new UsageError('--listen must be HOST:PORT, for example 127.0.0.1:9101');
  return { host, port };
}

function readModels(models: string | undefined, engine: Wanted['engine']): readonly [string, ...string[]] {
  const [first, ...rest] = (models ?? '').split(',').filter((name) => name !== '');
  if (engine === 'echo') return ['echo'];
  if (first === undefined) throw new UsageError('--models must name at least one model');
  if (engine === 'tei' && rest.length > 0) throw new UsageError('--models: a tei engine serves one model');
  return [first, ...rest];
}

function readNumber(flag: string, text: string | undefined, kind: 'above 0' | 'whole' | 'count'): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  const whole = /^\d{1,15}$/.test(text);
  const good = kind === 'above 0' ? Number.isFinite(value) && value > 0 : whole && (kind === 'whole' || value > 0);
  if (good) return value;
  const wanted = { 'above 0': 'a number above 0', whole: 'a whole number', count: 'a whole number above 0' }[kind];
  throw new UsageError(`${flag} must be ${wanted}, not "${text}"`);
}

async function readProfile(name: string | undefined, engine: Wanted['engine']): Promise<EngineProfile> {
  if (name === undefined) return engine === 'tei' ? ENCODER : VOLTA;
  return Object.entries(PROFILES).find(([key]) => key === name)?.[1] ?? readProfileFile(name);
}

async function readProfileFile(path: string): Promise<EngineProfile> {
  try {
    return parseProfile(parse(await readFile(path, 'utf8')));
  } catch (error) {
    throw new UsageError(`--profile ${path}: ${inPlainWords(error)}`);
  }
}

function start({ engine, models, maxModelLen, ...options }: Wanted): Promise<SimServer> {
  switch (engine) {
    case 'vllm':
      return startVllm({ ...options, models, ...(maxModelLen === undefined ? {} : { maxModelLen }) });
    case 'ollama':
      return startOllama({ ...options, models, ...(maxModelLen === undefined ? {} : { contextLength: maxModelLen }) });
    case 'tei':
      return startTei({ ...options, model: models[0], kind: models[0].includes('rerank') ? 'reranker' : 'embedding' });
    case 'echo':
      return startEcho(options);
  }
}

/** Settles with the first signal that asks the process to stop. */
function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
}
