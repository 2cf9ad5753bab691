import { LIGHT_SLACK, type FlowQueue } from './flow-queue.js';
import type { PeerLedgers, RemoteHead } from './peer-ledgers.js';
import { virtualCost } from './virtual-cost.js';
import type { Waiter } from './waiter.js';

/**
 * How far behind another gateway's tenant has to be before a place is left to it, in token equivalents; and no more than
 * so many requests like the one that would leave it.
 */
const SLACK = 30_000;
const SLACK_REQUESTS = 16;
/** How much longer the same tenant's oldest request has to have waited elsewhere. */
const OLDER_MS = { live: 10_000, told: 30_000 } as const;
/** How long a place is left to somebody who does not take it, and how long he is not waited for after that. */
const LONGEST_YIELD_MS = { live: 250, told: 2000 } as const;
const UNHEEDED_MS = { live: 500, told: 10_000 } as const;

/** The order over gateways: who has to leave a place to somebody who waits elsewhere. */
export class PeerOrder {
  /** Who has let a place stand, and until when nobody waits for him. */
  readonly #unheeded = new Map<string, number>();

  constructor(
    private readonly peers: PeerLedgers,
    private readonly bands: readonly FlowQueue<Waiter>[],
    private readonly live: () => boolean,
  ) {}

  /** Whether a request that could have a place now leaves it to another gateway's. */
  yields(waiter: Waiter, now: number): boolean {
    if (this.peers.heads.length === 0) return false;
    const mode = this.live() ? 'live' : 'told';
    const first = this.#firstBefore(waiter, OLDER_MS[mode], now);
    if (first === undefined) {
      waiter.yieldsSince = undefined;
      return false;
    }
    waiter.yieldsSince ??= now;
    if (now - waiter.yieldsSince < LONGEST_YIELD_MS[mode]) return true;
    waiter.yieldsSince = undefined;
    this.#unheeded.set(nameOf(first), now + UNHEEDED_MS[mode]);
    return false;
  }

  #firstBefore(waiter: Waiter, olderMs: number, now: number): RemoteHead | undefined {
    const band = this.bands[waiter.band];
    if (band === undefined) return undefined;
    const counter = band.flowOf(waiter.tenant).counter;
    const slack = slackOf(waiter);
    return this.peers.heads.find((head) => {
      const { band: index, kind, tenant, wantsPlace } = head.entry;
      if (!wantsPlace || index !== waiter.band || this.#isUnheeded(head, now)) return false;
      const isSmaller = kind === 'light' && waiter.kind !== 'light';
      if (isSmaller) return band.flowOf(tenant).counter - LIGHT_SLACK < counter;
      if (kind !== waiter.kind) return false;
      if (tenant === waiter.tenant) return head.since + olderMs < waiter.since;
      return band.flowOf(tenant).counter + slack < counter;
    });
  }

  #isUnheeded(head: RemoteHead, now: number): boolean {
    const until = this.#unheeded.get(nameOf(head));
    if (until === undefined) return false;
    if (now < until) return true;
    this.#unheeded.delete(nameOf(head));
    return false;
  }
}

const slackOf = ({ request: { promptTokens, outputTokens, places } }: Waiter): number =>
  Math.min(SLACK, SLACK_REQUESTS * virtualCost(promptTokens, outputTokens * places));

const nameOf = ({ entry: { band, kind, tenant } }: RemoteHead): string => `${band}/${kind}/${tenant}`;
