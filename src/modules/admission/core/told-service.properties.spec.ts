import fc from 'fast-check';
import { BandActivity } from './band-activity.js';
import { EndpointSet } from './endpoint-set.js';
import { FlowQueue } from './flow-queue.js';
import { OwnLedger } from './own-ledger.js';
import { PeerLedgers } from './peer-ledgers.js';
import type { SharedLedger } from './shared-ledger.js';
import type { Waiter } from './waiter.js';

/** Tenants that one band tells of at most. */
const MOST = 256;
const TENANT = 'tenant';

/** A gateway that serves, and one that listens to it. */
class World {
  readonly bands = [new FlowQueue<Waiter>()];
  readonly #own = new OwnLedger('a', 1);
  readonly #peers = new PeerLedgers({
    endpoints: new EndpointSet(1),
    bands: this.bands,
    activity: new BandActivity(1, 0),
  });
  #crowds = 0;

  charge(amount: number, tenant = TENANT): void {
    this.#own.charge(0, tenant, amount);
  }

  /** So many others are served that nobody else is told of any more. */
  crowd(): void {
    this.#crowds += 1;
    for (let at = 0; at < MOST; at += 1) this.charge(1, `${String(this.#crowds)}-${String(at)}`);
  }

  told(): SharedLedger {
    const activity = new BandActivity(1, 0);
    return this.#own.tell({ endpoints: [], bands: [], activity, kept: undefined, claimed: new Set() }, 0);
  }

  hear(ledger = this.told()): void {
    this.#peers.hear('a', ledger, 0);
  }

  /** As it is told by one whose answer has become too long. */
  hearCut(): void {
    this.hear({ ...this.told(), backlog: [], service: [], starts: [] });
  }

  fallSilent(): void {
    this.#peers.hear('a', undefined, 0);
  }

  charged(tenant = TENANT): number {
    return this.bands[0]?.flowOf(tenant).counter ?? NaN;
  }
}

describe('service that another gateway tells of', () => {
  it('is charged once, whether or not an answer had room for it', () => {
    const world = new World();
    world.charge(1000);
    world.hear();
    world.charge(500);
    world.hear();
    world.hearCut();
    expect(world.charged()).toBe(500);
    world.charge(7);
    world.hearCut();
    world.hear();
    expect(world.charged()).toBe(507);
  });

  it('is not what was had before it was first told of, though the first answers had no room for it', () => {
    const world = new World();
    world.charge(1000);
    world.hearCut();
    world.hear();
    world.charge(1);
    world.hear();
    expect(world.charged()).toBe(1);
  });

  it('goes on where it was when a tenant comes back to the list that others had driven from it', () => {
    const world = new World();
    world.hear();
    world.charge(100_000);
    world.hear();
    world.crowd();
    world.charge(10);
    world.hear();
    expect(world.charged()).toBe(100_010);
  });

  it('is less after a refund, even of what has been forgotten', () => {
    const world = new World();
    world.hear();
    world.charge(1000);
    world.hear();
    world.charge(-900);
    world.hear();
    expect(world.charged()).toBe(100);
    world.crowd();
    world.charge(-50);
    world.hear();
    expect(world.charged()).toBe(50);
  });

  it('is taken from a gateway of an earlier version, too', () => {
    const world = new World();
    const earlier = (): SharedLedger => {
      const { starts, ...rest } = world.told();
      expect(starts).toBeDefined();
      return rest;
    };
    world.hear(earlier());
    world.charge(1000);
    world.hear(earlier());
    world.hear({ ...earlier(), service: [] });
    world.charge(-100);
    world.hear(earlier());
    expect(world.charged()).toBe(900);
  });
});

const acts = fc.oneof(
  { weight: 6, arbitrary: fc.record({ charge: fc.integer({ min: 1, max: 1000 }) }) },
  { weight: 2, arbitrary: fc.constant('refund' as const) },
  { weight: 4, arbitrary: fc.constantFrom('hear' as const, 'cut' as const, 'silent' as const) },
  { weight: 2, arbitrary: fc.constant('crowd' as const) },
);
type Act = typeof acts extends fc.Arbitrary<infer T> ? T : never;

/** What a tenant has had, and what of it can be known elsewhere: what was told, or still may be. */
class Book {
  had = 0;
  /** Forgotten before it was told. */
  lost = 0;
  #untold = 0;
  #listed = false;

  charge(amount: number): void {
    this.had += amount;
    this.#untold += amount;
    this.#listed = true;
  }

  told(): void {
    this.#untold = 0;
  }

  crowded(): void {
    if (this.#listed) this.lost += this.#untold;
    this.#untold = 0;
    this.#listed = false;
  }
}

function perform(world: World, book: Book, act: Act): void {
  if (act === 'hear') {
    world.hear();
    book.told();
  } else if (act === 'cut') world.hearCut();
  else if (act === 'silent') world.fallSilent();
  else if (act === 'crowd') {
    world.crowd();
    book.crowded();
  } else {
    const amount = act === 'refund' ? -Math.floor(book.had / 2) : act.charge;
    world.charge(amount);
    book.charge(amount);
  }
}

describe('whatever is cut, forgotten or told late', () => {
  const schedule = fc.array(acts, { maxLength: 40 });

  it('what is charged for a tenant is what it has had, but for what was forgotten before it could be told', () => {
    fc.assert(
      fc.property(schedule, (sequence) => {
        const [world, book] = [new World(), new Book()];
        world.hear();
        for (const act of sequence) {
          perform(world, book, act);
          if (act === 'hear') expect(world.charged()).toBe(book.had - book.lost);
        }
        perform(world, book, 'hear');
        expect(world.charged()).toBe(book.had - book.lost);
      }),
      { numRuns: 150 },
    );
  });

  it('no more is charged for a tenant than it has had', () => {
    fc.assert(
      fc.property(schedule, (sequence) => {
        const [world, book] = [new World(), new Book()];
        world.hear();
        for (const act of sequence) {
          if (act === 'refund') continue;
          perform(world, book, act);
          expect(world.charged()).toBeLessThanOrEqual(book.had);
        }
      }),
      { numRuns: 150 },
    );
  });
});
