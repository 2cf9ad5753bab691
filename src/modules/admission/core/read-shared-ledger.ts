import type { WorkClass } from './pool-types.js';
import type { SharedBacklog, SharedLease, SharedLedger } from './shared-ledger.js';

/** More than a gateway has, and few enough to be merged in no time. */
const MOST_ENTRIES = 20_000;
const LONGEST_NAME = 300;
const MOST_BANDS = 64;
const KINDS: ReadonlySet<unknown> = new Set<WorkClass>(['light', 'heavy', 'long']);

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;
const isName = (value: unknown): value is string => typeof value === 'string' && value.length <= LONGEST_NAME;
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
const isAmount = (value: unknown): value is number => isNumber(value) && value >= 0;
const isAmountOrAbsent = (value: unknown): value is number | undefined => value === undefined || isAmount(value);
const isBand = (value: unknown): value is number => Number.isInteger(value) && isAmount(value) && value < MOST_BANDS;

const isListOf = <T>(value: unknown, isItem: (item: unknown) => item is T): value is readonly T[] =>
  Array.isArray(value) && value.length <= MOST_ENTRIES && value.every(isItem);

/** What another gateway says of one of its pools, read from JSON; undefined: it is nothing of the kind. */
export function sharedLedgerFrom(json: string): SharedLedger | undefined {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  return isSharedLedger(value) ? value : undefined;
}

/** Whether a value has all that a ledger has: whoever sends it may run another version, or be somebody else. */
export function isSharedLedger(value: unknown): value is SharedLedger {
  if (!isFields(value) || !isName(value['epoch'])) return false;
  return (
    isListOf(value['leases'], isLease) &&
    isListOf(value['backlog'], isBacklog) &&
    isListOf(value['service'], isBandService) &&
    (value['starts'] === undefined || areStarts(value['starts'], value['service'])) &&
    (value['kept'] === undefined || isKept(value['kept'])) &&
    isAmountOrAbsent(value['topBandAgoMs']) &&
    isAmountOrAbsent(value['longAgoMs'])
  );
}

function isLease(value: unknown): value is SharedLease {
  if (!isFields(value) || !isName(value['endpoint']) || !isBand(value['band']) || !KINDS.has(value['kind']))
    return false;
  const amounts = ['places', 'kvTokens', 'promptTokens', 'estimateMs', 'grantedAgoMs'];
  return amounts.every((name) => isAmount(value[name])) && isAmountOrAbsent(value['firstTokenAgoMs']);
}

function isKept(value: unknown): boolean {
  if (!isFields(value) || !isName(value['endpoint']) || !isBand(value['band'])) return false;
  return isAmount(value['places']) && isAmount(value['waitedMs']);
}

function isBacklog(value: unknown): value is SharedBacklog {
  if (!isFields(value) || !isName(value['tenant']) || !isBand(value['band']) || !KINDS.has(value['kind'])) return false;
  return isNumber(value['counter']) && isAmount(value['waitedMs']) && typeof value['wantsPlace'] === 'boolean';
}

const isBandService = (value: unknown): value is SharedLedger['service'][number] => isListOf(value, isTenantService);

const isNumbers = (value: unknown): value is readonly number[] => isListOf(value, isAmount);

const areStarts = (value: unknown, service: SharedLedger['service']): boolean =>
  isListOf(value, isNumbers) && service.every((totals, band) => value[band]?.length === totals.length);

const isTenantService = (value: unknown): value is readonly [string, number] =>
  Array.isArray(value) && value.length === 2 && isName(value[0]) && isNumber(value[1]);
