import { EndpointLedger } from './endpoint-ledger.js';

/** The endpoints of one pool. */
export class PoolEndpoints {
  readonly byId = new Map<string, EndpointLedger>();
  /** By address: the same order on every gateway. */
  ordered: readonly EndpointLedger[] = [];

  constructor(private readonly slots: number) {}

  /** Those that there are now. One that is new is empty, and is returned; one that is gone takes no more requests. */
  become(ids: readonly string[]): readonly EndpointLedger[] {
    for (const id of this.byId.keys()) if (!ids.includes(id)) this.byId.delete(id);
    const fresh = ids.filter((id) => !this.byId.has(id)).map((id) => new EndpointLedger(id, this.slots));
    for (const endpoint of fresh) this.byId.set(endpoint.id, endpoint);
    this.ordered = [...this.byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    return fresh;
  }
}
