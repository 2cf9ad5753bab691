import type { Clock, Timer } from '../../common/clock.js';
import type { Tie } from '../workers/worker-link.js';
import type { Claim, ClaimStore } from './core/shared-ledger.js';
import type { PoolSharing } from './core/sharing.js';
import type { PoolSharings, SlotController } from './slot-controller.js';
import { CLAIM_STEPS, CLAIMED, OWN_LEDGERS, SIBLING, WATCH_SIBLINGS, type ClaimStep } from './worker-topics.js';

/** What has changed within this time is told together. */
const TELL_AFTER_MS = 2;

/** How often the share of an upstream without gauges could turn: it does not. */
const NOT_READ_MS = 1000;

/** The gateway that the workers are part of, among others like it. */
export interface Replica {
  readonly index: number;
  readonly replicas: number;
}

/** The pools of a worker among those of its siblings: the primary counts the places, and passes on what each one tells. */
export class AmongWorkers implements PoolSharings {
  readonly #claims: LineClaims;
  readonly #changed = new Set<string>();
  #timer: Timer | undefined;
  #slots: SlotController | undefined;

  constructor(
    private readonly tie: Tie,
    private readonly replica: Replica,
    private readonly epoch: string,
    private readonly clock: Clock,
  ) {
    this.#claims = new LineClaims(tie);
  }

  sharingOf(upstream: string, readEveryMs = NOT_READ_MS): PoolSharing {
    const { index, workers } = this.tie;
    const { replicas, index: replica } = this.replica;
    return {
      index: replica * workers + index - 1,
      gateways: replicas * workers,
      epoch: this.epoch,
      readEveryMs,
      wallTime: Date.now,
      // Nothing leaves the machine.
      tenantKey: (tenant) => tenant,
      store: this.#claims.of(upstream),
      told: () => false,
      // All siblings are known at any time; other gateways are not.
      live: () => replicas === 1,
      changed: () => this.#change(upstream),
    };
  }

  serve(): void {
    // They are served together, once the controller is there.
  }

  /** From now on siblings are heard, and told. */
  connect(slots: SlotController): void {
    this.#slots = slots;
    const { line } = this.tie;
    line.on(SIBLING, ({ peer, ledgers }) => slots.hear(peer, ledgers));
    line.post(WATCH_SIBLINGS, null);
  }

  #change(upstream: string): void {
    this.#changed.add(upstream);
    if (this.#timer !== undefined) return;
    this.#timer = this.clock.after(TELL_AFTER_MS, () => this.#tell());
  }

  #tell(): void {
    this.#timer = undefined;
    const ledgers = this.#slots?.tell(this.#changed);
    this.#changed.clear();
    if (ledgers !== undefined) this.tie.line.post(OWN_LEDGERS, ledgers);
  }
}

/** The stores of all pools at the other end of the line: what is asked in one turn goes in one message. */
class LineClaims {
  readonly #asked = new Map<string, (taken: boolean) => void>();
  #steps: ClaimStep[] = [];

  constructor(private readonly tie: Tie) {
    tie.line.on(CLAIMED, (answers) => {
      for (const [id, taken] of answers) {
        this.#asked.get(id)?.(taken);
        this.#asked.delete(id);
      }
    });
  }

  of(pool: string): ClaimStore {
    return {
      claim: (claim) => this.#claim(pool, claim),
      release: (release) => this.#send({ pool, release }),
    };
  }

  #claim(pool: string, claim: Claim): Promise<boolean> {
    return new Promise((resolve) => {
      this.#asked.set(claim.id, resolve);
      this.#send({ pool, claim });
    });
  }

  #send(step: ClaimStep): void {
    if (this.#steps.push(step) > 1) return;
    queueMicrotask(() => {
      const steps = this.#steps;
      this.#steps = [];
      this.tie.line.post(CLAIM_STEPS, steps);
    });
  }
}
