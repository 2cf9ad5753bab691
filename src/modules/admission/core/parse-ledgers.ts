import { isSharedLedger } from './read-shared-ledger.js';
import type { SharedLedger } from './shared-ledger.js';

/** What one gateway says: who it is, and the ledger of each of its upstreams. */
export interface GatewayLedgers {
  readonly epoch: string;
  readonly pools: ReadonlyMap<string, SharedLedger>;
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Throws where it is anything else: a gateway of another version may speak otherwise. */
export function parseLedgers(text: string): GatewayLedgers {
  const whole: unknown = JSON.parse(text);
  if (!isFields(whole) || typeof whole['epoch'] !== 'string' || !isFields(whole['pools']))
    throw new TypeError('it is not what a gateway says of its pools');
  const { epoch, pools } = whole;
  const ledgers = Object.entries(pools).map(([name, pool]): readonly [string, SharedLedger] => {
    const ledger = isFields(pool) ? { ...pool, epoch } : pool;
    if (!isSharedLedger(ledger)) throw new TypeError('it holds something that is not the ledger of a pool');
    return [name, ledger];
  });
  return { epoch, pools: new Map(ledgers) };
}
