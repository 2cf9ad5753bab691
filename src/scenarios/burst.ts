import { controller } from './controller-gate.js';
import { GOLD, type GateMaker } from './gate.js';
import type { Outcome } from './job.js';
import { percent, short, table } from './markdown.js';
import { quantile } from './measures.js';
import { gaugesAlone, noGate } from './plain-rules.js';
import { World } from './world.js';
import { VOLTA } from '../sim/core/profiles.js';

/** Late enough that the engines' gauges are known. */
const AT_MS = 10_000;
const LONG_COUNT = 2;
const SHORT_COUNT = 15;
const PARKS_S = [60, 120, 240, 480, 720] as const;
/** So short that any wait for the gauges alone would show. */
const TINY_PARK_S = 5;

interface Case {
  readonly title: string;
  readonly gate: GateMaker;
  readonly maxParkS: number | undefined;
}

const CASES: readonly Case[] = [
  { title: 'no gate', gate: noGate, maxParkS: undefined },
  ...PARKS_S.map((maxParkS) => ({ title: 'gauges alone', gate: gaugesAlone(maxParkS * 1_000), maxParkS })),
  { title: 'gauges alone', gate: gaugesAlone(Infinity), maxParkS: Infinity },
  { title: 'this controller', gate: controller({ maxParkMs: TINY_PARK_S * 1_000 }), maxParkS: TINY_PARK_S },
  { title: 'this controller', gate: controller(), maxParkS: 120 },
  { title: 'this controller, ttl 300 s', gate: controller({ ttlMs: 300_000 }), maxParkS: 120 },
];

/** How the two long and fifteen short prompts come. */
interface Arrival {
  readonly endpoints: number;
  readonly apartMs: number;
}

const ARRIVALS: readonly Arrival[] = [
  { endpoints: 1, apartMs: 0 },
  { endpoints: 1, apartMs: 2_000 },
  { endpoints: 2, apartMs: 0 },
  { endpoints: 2, apartMs: 2_000 },
];

function outcomesOf(gate: GateMaker, { endpoints, apartMs }: Arrival, seed: number): readonly Outcome[] {
  const world = new World({ gate, seed, gateways: 1, endpoints, profile: VOLTA, slowMetrics: false });
  const draws = world.draws('burst');
  const send = (load: string, index: number, promptTokens: number, outputTokens: number): void => {
    const tenant = `t${index % 5}`;
    world.at(AT_MS + index * apartMs, () =>
      world.send({ load, tenant, band: GOLD, promptTokens, outputTokens }, draws),
    );
  };
  for (let index = 0; index < LONG_COUNT; index += 1) send('long', index, 65_000, 500);
  for (let index = 0; index < SHORT_COUNT; index += 1) send('short', LONG_COUNT + index, 8_000, 300);
  return world.run(AT_MS + (LONG_COUNT + SHORT_COUNT) * apartMs + 1_000).outcomes;
}

const secondsSince = (from: number, to: number | undefined): number => ((to ?? NaN) - from) / 1_000;

/** Tokens of prompt and answer that ended well, for each second until the last of them had ended. */
function goodput(outcomes: readonly Outcome[]): number {
  const served = outcomes.filter(({ how }) => how === 'served');
  const tokens = served.reduce((sum, { job }) => sum + job.promptTokens + job.outputTokens, 0);
  return tokens / secondsSince(AT_MS, Math.max(...served.map(({ endedAt }) => endedAt)));
}

function row({ title, gate, maxParkS }: Case, arrival: Arrival, seeds: readonly number[]): readonly string[] {
  const runs = seeds.map((seed) => outcomesOf(gate, arrival, seed));
  const all = runs.flat();
  const served = (load: string): Outcome[] => all.filter(({ job, how }) => job.load === load && how === 'served');
  const ttft = served('short').map(({ arrivedAt, firstAt }) => secondsSince(arrivedAt, firstAt));
  const long = served('long').map(({ arrivedAt, endedAt }) => secondsSince(arrivedAt, endedAt));
  const refused = (why: Outcome['refusal']): string =>
    percent(all.filter(({ refusal }) => refusal === why).length / all.length);
  const waited = all.flatMap(({ queuedMs }) => (queuedMs === undefined ? [] : [queuedMs / 1_000]));
  return [
    title,
    maxParkS === undefined ? '' : maxParkS === Infinity ? 'none' : `${maxParkS} s`,
    `${short(quantile(ttft, 0.5))}/${short(quantile(ttft, 0.99))}`,
    short(runs.reduce((sum, run) => sum + goodput(run), 0) / runs.length),
    `${short(quantile(long, 0.5))}/${short(quantile(long, 1))}`,
    refused('engine-saturated'),
    refused('queue-timeout'),
    short(Math.max(...waited)),
  ];
}

const HEAD = [
  ...['policy', 'maxPark', 'short: first token p50/p99, s', 'goodput, tok/s', 'long: last token p50/max, s'],
  ...['503 saturated', '504 timeout', 'longest wait, s'],
];

/** Two prompts of 65k tokens and fifteen of 8k, with one endpoint and with two, at once and 2 s apart. */
export function burstSections(seeds: readonly number[]): readonly string[] {
  return ARRIVALS.map((arrival) => {
    const { endpoints, apartMs } = arrival;
    const title = `### ${endpoints === 1 ? 'One endpoint' : 'Two endpoints'}, ${apartMs === 0 ? 'at once' : '2 s apart'}`;
    const rows = CASES.map((one) => row(one, arrival, seeds));
    return `${title}\n\n${table(HEAD, rows)}`;
  });
}
