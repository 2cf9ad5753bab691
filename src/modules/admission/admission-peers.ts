import { lookup } from 'node:dns/promises';
import type { Clock, Timer } from '../../common/clock.js';
import type { OperatorLog } from '../../common/operator-log.js';
import { parseLedgers, type GatewayLedgers } from './core/parse-ledgers.js';
import type { SharedLedger } from './core/shared-ledger.js';
import { MAX_LEDGER_BYTES, PeersClient } from './peers-client.js';
import type { PeersSecret } from './peers-secret.js';

const EVERY_MS = 1000;
/** Not all at the same moment. */
const JITTER_MS = 100;
/** Silence after which a gateway is taken to hold nothing. */
const SILENT_MS = 3000;

/** What is told and heard. */
export interface Ledgers {
  shared(): ReadonlyMap<string, SharedLedger>;
  /** undefined: it has fallen silent. */
  remote(peer: string, pools: ReadonlyMap<string, SharedLedger> | undefined): void;
  /** All others have been asked. */
  afterNews(): void;
}

export interface PeersTerms {
  readonly epoch: string;
  /** host:port behind which all gateways' management listeners are found. */
  readonly name: string;
  readonly replicas: number;
  readonly secret: PeersSecret;
  readonly ledgers: Ledgers;
  readonly clock: Clock;
  readonly log: OperatorLog;
}

/** Reads what the other gateways hold, once a second, and says what this one does. */
export class AdmissionPeers {
  readonly #client = new PeersClient();
  /** When each gateway was last heard, by its epoch. */
  readonly #heardAt = new Map<string, number>();
  #timer: Timer | undefined;
  #stopped = false;
  #degraded = false;
  #fault = '';

  constructor(private readonly terms: PeersTerms) {}

  /** Fewer gateways answer than there are: shares are kept instead. */
  get degraded(): boolean {
    return this.#heardAt.size < this.terms.replicas - 1;
  }

  start(): void {
    void this.#round();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#client.close();
  }

  /** The answer to another gateway; undefined: it has not proved that it is one. */
  answer(authorization: string | undefined): string | undefined {
    const { secret, epoch, ledgers } = this.terms;
    if (authorization?.startsWith('Bearer ') !== true || !secret.isBearer(authorization.slice(7))) return undefined;
    const pools = [...ledgers.shared()];
    const whole = JSON.stringify({ epoch, pools: Object.fromEntries(pools) });
    if (Buffer.byteLength(whole) <= MAX_LEDGER_BYTES) return whole;
    // What is held says how full the engines are; who waits and who was served only in which order.
    const held = pools.map(([name, pool]) => [name, { ...pool, backlog: [], service: [], starts: [] }] as const);
    return JSON.stringify({ epoch, pools: Object.fromEntries(held) });
  }

  async #round(): Promise<void> {
    try {
      this.terms.secret.reread();
      const origins = await this.#origins();
      await Promise.all(origins.map((origin) => this.#ask(origin)));
    } catch (error) {
      this.#note(error);
    }
    this.#dropSilent();
    this.#say();
    if (this.#stopped) return;
    this.terms.ledgers.afterNews();
    const delayMs = EVERY_MS + (Math.random() - 0.5) * JITTER_MS;
    this.#timer = this.terms.clock.after(delayMs, () => void this.#round());
  }

  async #origins(): Promise<readonly string[]> {
    const { name } = this.terms;
    const colon = name.lastIndexOf(':');
    const host = name.slice(0, colon).replace(/[[\]]/g, '');
    const port = name.slice(colon + 1);
    const found = await lookup(host, { all: true });
    return found.map(({ address, family }) => `http://${family === 6 ? `[${address}]` : address}:${port}`);
  }

  async #ask(origin: string): Promise<void> {
    try {
      const said = parseLedgers(await this.#client.read(origin, this.terms.secret.bearer));
      if (said.epoch !== this.terms.epoch) this.#hear(said);
    } catch (error) {
      this.#note(error);
    }
  }

  #hear({ epoch, pools }: GatewayLedgers): void {
    if (this.#stopped) return;
    this.#heardAt.set(epoch, this.terms.clock.now());
    this.terms.ledgers.remote(epoch, pools);
  }

  #dropSilent(): void {
    const since = this.terms.clock.now() - SILENT_MS;
    for (const [epoch, at] of this.#heardAt) {
      if (at > since) continue;
      this.#heardAt.delete(epoch);
      this.terms.ledgers.remote(epoch, undefined);
    }
  }

  #note(error: unknown): void {
    this.#fault = error instanceof Error ? error.message : typeof error;
  }

  /** One line at each turn. */
  #say(): void {
    const { degraded } = this;
    if (degraded === this.#degraded || this.#stopped) return;
    this.#degraded = degraded;
    const fields = { answering: this.#heardAt.size, expected: this.terms.replicas - 1, fault: this.#fault };
    if (degraded) this.terms.log.warn(fields, 'other gateways do not answer: this one keeps to its share');
    else this.terms.log.info(fields, 'all other gateways answer');
  }
}
