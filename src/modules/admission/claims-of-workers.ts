import type { Line } from '../workers/line.js';
import { MemoryClaims } from './core/memory-claims.js';
import {
  CLAIM_STEPS,
  CLAIMED,
  OWN_LEDGERS,
  SIBLING,
  WATCH_SIBLINGS,
  type ClaimStep,
  type Ledgers,
} from './worker-topics.js';

/** What a worker holds and has told. */
interface Present {
  readonly peer: string;
  /** By the id of its claim: the pool. */
  readonly held: Map<string, string>;
  ledgers: Ledgers;
  watches: boolean;
}

/**
 * The places of all workers, counted in the primary; and what each of them tells the others of its queue. A worker that
 * has gone holds nothing from that moment on.
 */
export class ClaimsOfWorkers {
  readonly #pools: ReadonlyMap<string, MemoryClaims>;
  readonly #present = new Map<Line, Present>();

  constructor(pools: readonly string[]) {
    this.#pools = new Map(pools.map((name) => [name, new MemoryClaims()]));
  }

  join(line: Line, peer: string): void {
    const worker: Present = { peer, held: new Map(), ledgers: {}, watches: false };
    this.#present.set(line, worker);
    line.on(CLAIM_STEPS, (steps) => {
      const answers = steps.flatMap((step) => this.#take(worker, step));
      if (answers.length > 0) line.post(CLAIMED, answers);
    });
    line.on(OWN_LEDGERS, (ledgers) => {
      worker.ledgers = { ...worker.ledgers, ...ledgers };
      this.#tellSiblings(line, { peer, ledgers });
    });
    line.on(WATCH_SIBLINGS, () => {
      worker.watches = true;
      for (const [sibling, { peer: its, ledgers }] of this.#present)
        if (sibling !== line) line.post(SIBLING, { peer: its, ledgers });
    });
  }

  leave(line: Line): void {
    const gone = this.#present.get(line);
    if (gone === undefined) return;
    this.#present.delete(line);
    for (const [id, pool] of gone.held) this.#pools.get(pool)?.release(id);
    this.#tellSiblings(line, { peer: gone.peer });
  }

  #take({ held }: Present, step: ClaimStep): [id: string, taken: boolean][] {
    const store = this.#pools.get(step.pool);
    if ('release' in step) {
      store?.release(step.release);
      held.delete(step.release);
      return [];
    }
    const { id } = step.claim;
    const taken = store?.claim(step.claim) ?? true;
    if (taken) held.set(id, step.pool);
    return [[id, taken]];
  }

  #tellSiblings(from: Line, news: { readonly peer: string; readonly ledgers?: Ledgers }): void {
    for (const [line, { watches }] of this.#present) if (line !== from && watches) line.post(SIBLING, news);
  }
}
