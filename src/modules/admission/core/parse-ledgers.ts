import type { WorkClass } from './pool-types.js';
import type { SharedBacklog, SharedLease, SharedLedger } from './shared-ledger.js';

/** What one gateway says: who it is, and the ledger of each of its upstreams. */
export interface GatewayLedgers {
  readonly epoch: string;
  readonly pools: ReadonlyMap<string, SharedLedger>;
}

/** Throws where it is anything else: a gateway of another version may speak otherwise. */
export function parseLedgers(text: string): GatewayLedgers {
  const whole = record(JSON.parse(text));
  const epoch = string(whole.epoch);
  const pools = Object.entries(record(whole.pools)).map(
    ([name, pool]) => [name, ledgerFrom(epoch, record(pool))] as const,
  );
  return { epoch, pools: new Map(pools) };
}

function ledgerFrom(epoch: string, pool: Fields): SharedLedger {
  const service = list(pool.service).map((band) =>
    list(band).map((pair) => [string(list(pair)[0]), number(list(pair)[1])] as const),
  );
  return {
    epoch,
    leases: list(pool.leases).map((lease) => leaseFrom(record(lease))),
    service,
    backlog: list(pool.backlog).map((line) => backlogFrom(record(line))),
    ...optional('topBandAgoMs', pool.topBandAgoMs),
    ...optional('longAgoMs', pool.longAgoMs),
  };
}

const leaseFrom = (lease: Fields): SharedLease => ({
  endpoint: string(lease.endpoint),
  band: count(lease.band),
  kind: workClass(lease.kind),
  places: count(lease.places),
  kvTokens: count(lease.kvTokens),
  promptTokens: count(lease.promptTokens),
  estimateMs: count(lease.estimateMs),
  grantedAgoMs: count(lease.grantedAgoMs),
  ...optional('firstTokenAgoMs', lease.firstTokenAgoMs),
});

const backlogFrom = (line: Fields): SharedBacklog => ({
  band: count(line.band),
  kind: workClass(line.kind),
  tenant: string(line.tenant),
  counter: number(line.counter),
  waitedMs: count(line.waitedMs),
  wantsPlace: line.wantsPlace === true,
});

type Fields = Readonly<Record<string, unknown>>;

function record(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new TypeError('an object is missing');
  return value as Fields;
}

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError('a list is missing');
  return value as readonly unknown[];
}

function string(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('a text is missing');
  return value;
}

function number(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new TypeError('a number is missing');
  return value;
}

function count(value: unknown): number {
  const found = number(value);
  if (found < 0) throw new TypeError('a number is negative');
  return found;
}

function workClass(value: unknown): WorkClass {
  if (value !== 'light' && value !== 'heavy' && value !== 'long') throw new TypeError('a class is none');
  return value;
}

const optional = <K extends string>(key: K, value: unknown): Partial<Record<K, number>> =>
  value === undefined ? {} : ({ [key]: count(value) } as Partial<Record<K, number>>);
