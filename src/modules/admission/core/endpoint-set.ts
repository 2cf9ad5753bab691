import { EndpointLedger } from './endpoint-ledger.js';

/** Where the requests of one pool run. */
export class EndpointSet {
  /** Those that take requests. */
  readonly current = new Map<string, EndpointLedger>();
  /**
   * Those that are listed no more while requests of this gateway still run there: a name that is looked up may leave an
   * address out once, and it comes back with all that it holds.
   */
  readonly leaving = new Map<string, EndpointLedger>();

  constructor(private readonly slotsPerEndpoint: number) {}

  /** All at which this gateway may have requests. */
  *all(): Generator<EndpointLedger> {
    yield* this.current.values();
    yield* this.leaving.values();
  }

  /** Requests of this gateway. */
  get running(): number {
    let count = 0;
    for (const { ownRequests } of this.all()) count += ownRequests;
    return count;
  }

  /** Those that there are now; returns the ones that there were not before. */
  list(ids: readonly string[]): readonly EndpointLedger[] {
    for (const [id, ledger] of this.leaving) if (ledger.ownPlaces === 0) this.leaving.delete(id);
    for (const [id, ledger] of this.current) if (!ids.includes(id)) this.#unlist(id, ledger);
    const added = ids.filter((id) => !this.current.has(id)).map((id) => this.#ledgerOf(id));
    for (const ledger of added) this.current.set(ledger.id, ledger);
    return added;
  }

  #ledgerOf(id: string): EndpointLedger {
    const known = this.leaving.get(id);
    this.leaving.delete(id);
    return known ?? new EndpointLedger(id, this.slotsPerEndpoint);
  }

  #unlist(id: string, ledger: EndpointLedger): void {
    this.current.delete(id);
    if (ledger.ownPlaces === 0) return;
    ledger.forgetReading();
    ledger.forgetOthers();
    this.leaving.set(id, ledger);
  }
}
