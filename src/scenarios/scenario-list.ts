import { BRONZE, GOLD, PLATINUM, SILVER } from './gate.js';
import type { Job } from './job.js';
import type { World } from './world.js';
import { FAST, SLOTS, VOLTA, type EngineProfile } from '../sim/core/profiles.js';

/** A load on a pool of engines. */
export interface Scenario {
  readonly id: string;
  readonly title: string;
  readonly lengthMs: number;
  readonly profile: EngineProfile;
  /** It has so many requests that fewer seeds tell as much; absent: all of them. */
  readonly mostSeeds?: number;
  load(world: World): void;
}

/** Prefill at 262 tok/s whatever the length: the reading of the two known rates that knows no attention. */
const FLAT: EngineProfile = { ...VOLTA, prefillTokenMs: 1_000 / 262, prefillAttentionMs: 0 };

type Size = readonly [promptTokens: number, outputTokens: number];

/** Clients appear within this time. */
const APPEAR_MS = 1_000;
const DOWN_FROM_MS = 300_000;
const UP_AGAIN_MS = 390_000;
/** So much later the gateways hear of it. */
const READINESS_LAG_MS = 10_000;

function clients(world: World, load: string, count: number, jobOf: (index: number) => Job): void {
  for (let index = 0; index < count; index += 1) {
    const draws = world.draws(`${load} client ${index}`);
    const job = jobOf(index);
    world.at(draws.next() * APPEAR_MS, () => world.loop(() => job, draws));
  }
}

function stream(world: World, perSecond: number, job: Job, tenants = 1): void {
  const draws = world.draws(job.load);
  world.stream(perSecond, draws, () => {
    const tenant = tenants === 1 ? job.tenant : `${job.tenant}${draws.below(tenants)}`;
    world.send({ ...job, tenant }, draws);
  });
}

function once(world: World, atMs: number, job: Job): void {
  const draws = world.draws(`${job.load} at ${atMs}`);
  world.at(atMs, () => world.send(job, draws));
}

const job = (load: string, tenant: string, band: number, [promptTokens, outputTokens]: Size): Job => ({
  load,
  tenant,
  band,
  promptTokens,
  outputTokens,
});

const bronze = (world: World, count: number, size: Size = [1_000, 200]): void =>
  clients(world, 'batch', count, (index) => job('batch', `batch${index % 10}`, BRONZE, size));

const chat = (world: World, perSecond: number, size: Size = [500, 150]): void =>
  stream(world, perSecond, job('chat', 'chat', GOLD, size));

const platinum = (world: World, perSecond: number, size: Size = [300, 100]): void =>
  stream(world, perSecond, job('platinum', 'platinum', PLATINUM, size));

function prefillBurst(world: World, longs: number, long: Size, heavies: number, heavy: Size): void {
  const tenantOf = (index: number): string => `t${index % 5}`;
  for (let index = 0; index < longs; index += 1) once(world, 1_000 + index, job('long', tenantOf(index), GOLD, long));
  for (let index = 0; index < heavies; index += 1) {
    once(world, 1_000 + 2_000 * index, job('heavy', tenantOf(index + longs), GOLD, heavy));
  }
  stream(world, 0.15, job('chat', 't', GOLD, [500, 150]), 5);
}

interface Mix {
  readonly bronze: Size;
  readonly chat: Size;
  readonly platinum: Size;
  readonly long: Size;
}

const S3_SIZES: Mix = { bronze: [1_000, 200], chat: [500, 150], platinum: [300, 100], long: [65_000, 500] };
const H2_SIZES: Mix = { bronze: [1_800, 250], chat: [800, 200], platinum: [400, 150], long: [45_000, 400] };

function mixed(world: World, clientCount: number, sizes: Mix): void {
  bronze(world, clientCount, sizes.bronze);
  chat(world, 0.1, sizes.chat);
  platinum(world, 0.03, sizes.platinum);
  for (let at = 60_000; at < 2_400_000; at += 600_000) once(world, at, job('long', 'reader', SILVER, sizes.long));
}

function crowd(world: World): void {
  bronze(world, 500);
  platinum(world, 0.05);
}

function bypass(world: World): void {
  const [first] = world.endpoints;
  if (first === undefined) return;
  const outsider = job('outside', 'outside', BRONZE, [4_000, 200]);
  for (let index = 0; index < 3; index += 1) world.at(index * 100, () => world.loopStraight(outsider, first));
  bronze(world, 6);
  chat(world, 0.1);
}

function withoutMetrics(world: World): void {
  bronze(world, 60);
  chat(world, 0.1);
  const setReachable = (reachable: boolean) => (): void => {
    for (const gateway of world.gateways) gateway.metricsReachable = reachable;
  };
  world.at(300_000, setReachable(false));
  world.at(600_000, setReachable(true));
}

function withAnOutage(world: World): void {
  bronze(world, 60);
  chat(world, 0.1);
  const [first] = world.endpoints;
  if (first === undefined) return;
  world.at(DOWN_FROM_MS, () => first.crash());
  world.at(DOWN_FROM_MS + READINESS_LAG_MS, () => world.list(first, false));
  world.at(UP_AGAIN_MS, () => first.restart());
  world.at(UP_AGAIN_MS + READINESS_LAG_MS, () => world.list(first, true));
}

/** More memory is wanted than there is, though places are free. */
function scarceMemory(world: World): void {
  bronze(world, 24, [1_000, 2_500]);
  chat(world, 0.1);
}

/** Requests for four answers at once, as many as an engine runs, among single ones that take each place as it frees. */
function wide(world: World): void {
  chat(world, 0.5);
  bronze(world, 20);
  const four = job('wide', 'wide', GOLD, [500, 150]);
  for (let at = 60_000; at < 1_200_000; at += 120_000) once(world, at, { ...four, choices: 4 });
}

function flooder(world: World, flood: Size): void {
  clients(world, 'A', 40, () => job('A', 'A', GOLD, flood));
  for (const name of ['B', 'C', 'D']) clients(world, name, 4, () => job(name, name, GOLD, [1_000, 200]));
}

const seconds = (count: number): number => count * 1_000;

/** Room for not quite three of the answers of K1, where four could run. */
const SMALL_MEMORY: EngineProfile = { ...VOLTA, blocks: 640 };

/** The loads that the algorithm was designed on, and K1: what the KV ledger is for. */
export const SCENARIOS: readonly Scenario[] = [
  {
    id: 'S1',
    title: 'two 65k prompts, fifteen of 8k, chat',
    lengthMs: seconds(900),
    profile: VOLTA,
    load: (world) => prefillBurst(world, 2, [65_000, 500], 15, [8_000, 300]),
  },
  { id: 'S2', title: '500 batch clients, platinum', lengthMs: seconds(1_800), profile: VOLTA, load: crowd },
  { id: 'S2s', title: 'the same on plain slots', lengthMs: seconds(1_800), profile: SLOTS, load: crowd },
  { id: 'S2f', title: 'the same on a fast engine', lengthMs: seconds(1_800), profile: FAST, mostSeeds: 1, load: crowd },
  {
    id: 'S3',
    title: '60 batch clients, chat, platinum, a 65k prompt every 10 min',
    lengthMs: seconds(2_400),
    profile: VOLTA,
    load: (world) => mixed(world, 60, S3_SIZES),
  },
  { id: 'S4', title: 'callers past the gateway', lengthMs: seconds(1_200), profile: VOLTA, load: bypass },
  { id: 'S5', title: 'no metrics for 300 s', lengthMs: seconds(1_200), profile: VOLTA, load: withoutMetrics },
  { id: 'S6', title: 'an engine down for 90 s', lengthMs: seconds(1_200), profile: VOLTA, load: withAnOutage },
  {
    id: 'S7',
    title: 'one tenant floods with larger prompts',
    lengthMs: seconds(1_200),
    profile: VOLTA,
    load: (world) => flooder(world, [4_000, 100]),
  },
  {
    id: 'S7b',
    title: 'one tenant floods',
    lengthMs: seconds(1_200),
    profile: VOLTA,
    load: (world) => flooder(world, [1_000, 200]),
  },
  {
    id: 'H1',
    title: 'three 30k prompts, twelve of 11k, chat',
    lengthMs: seconds(900),
    profile: VOLTA,
    load: (world) => prefillBurst(world, 3, [30_000, 500], 12, [11_000, 300]),
  },
  {
    id: 'H2',
    title: 'S3 with other sizes and 80 batch clients',
    lengthMs: seconds(2_400),
    profile: VOLTA,
    load: (world) => mixed(world, 80, H2_SIZES),
  },
  {
    id: 'H3',
    title: 'S3 where prefill is 262 tok/s at any length',
    lengthMs: seconds(2_400),
    profile: FLAT,
    load: (world) => mixed(world, 60, S3_SIZES),
  },
  { id: 'N1', title: 'four answers at once, among single ones', lengthMs: seconds(1_200), profile: VOLTA, load: wide },
  { id: 'K1', title: 'little KV memory', lengthMs: seconds(1_800), profile: SMALL_MEMORY, load: scarceMemory },
];

/** The loads of S2 and S3 without anybody in the way: what platinum takes on idle engines. */
export function idleOf({ id, profile }: Scenario): Scenario {
  const load = (world: World): void => platinum(world, 0.05);
  return { id: `${id} idle`, title: 'platinum alone', lengthMs: seconds(1_800), profile, load };
}
