import { Heap, type HeapItem } from './heap.js';
import { Line, type Waiting } from './line.js';
import type { WorkClass } from './pool-types.js';

/** A small request may go before a larger one whose tenant is this much behind, in token equivalents. */
export const LIGHT_SLACK = 60_000;
/** Tenants remembered without anything waiting; those that have had the least are forgotten first. */
const REMEMBERED = 10_000;
const CLASSES: readonly WorkClass[] = ['light', 'heavy', 'long'];

/** What can wait: it notes where, so that leaving takes no search. */
export interface Queued extends Waiting {
  readonly tenant: string;
  readonly kind: WorkClass;
  /** Milliseconds of prefill that it will need. */
  readonly estimateMs: number;
  /** In which order requests came. */
  readonly order: number;
  lane: Lane<this> | undefined;
}

/** The requests of one tenant and class, in order of arrival. In the band's heap while it holds any. */
export class Lane<T extends Waiting> extends Line<T> implements HeapItem {
  heapIndex = -1;

  constructor(
    readonly flow: Flow,
    readonly kind: WorkClass,
  ) {
    super();
  }
}

/** One tenant in one band. */
export interface Flow {
  readonly tenant: string;
  /** Service received, in token equivalents. */
  counter: number;
  waiting: number;
  readonly lanes: Partial<Record<WorkClass, Lane<Waiting>>>;
}

/**
 * One band's queue: within it the turn is the tenant's that has had the least service (Sheng et al., Fairness in
 * Serving Large Language Models, 2024), within a tenant and class that of the first to come. Everything takes O(log n).
 */
export class FlowQueue<T extends Queued> {
  readonly #flows = new Map<string, Flow>();
  /** Those of them with nothing waiting. */
  readonly #idle = new Set<Flow>();
  /** Those of whom something waits on other gateways. */
  #elsewhere = new Set<Flow>();
  readonly #heaps: Readonly<Record<WorkClass, Heap<Lane<T>>>> = {
    light: new Heap<Lane<T>>(before),
    heavy: new Heap<Lane<T>>(before),
    long: new Heap<Lane<T>>(before),
  };
  /**
   * Where the tenant stood that was served last, before that: nobody comes back with less, and who comes back from
   * there has its turn next. Had it to come back level with those that wait, it would find itself behind one of them.
   */
  #floor = 0;
  size = 0;
  estimateMs = 0;

  /** Appends a request, or puts it at the head of its tenant's line. */
  add(item: T, front: boolean): void {
    const flow = this.flowOf(item.tenant);
    if (flow.waiting === 0) this.#return(flow);
    const lane = this.#laneOf(flow, item.kind);
    item.lane = lane;
    item.waits = true;
    if (front) lane.unshift(item, cameBefore);
    else lane.push(item);
    flow.waiting += 1;
    this.size += 1;
    this.estimateMs += item.estimateMs;
    if (lane.heapIndex < 0) this.#heaps[item.kind].push(lane);
    else this.#heaps[item.kind].update(lane);
  }

  /** Takes a request out, wherever it stands. One that does not wait is ignored. */
  remove(item: T): void {
    const lane = item.lane;
    if (lane === undefined || !item.waits) return;
    item.waits = false;
    lane.left();
    lane.flow.waiting -= 1;
    if (lane.flow.waiting === 0) this.#idle.add(lane.flow);
    this.size -= 1;
    this.estimateMs = this.size === 0 ? 0 : this.estimateMs - item.estimateMs;
    if (lane.size === 0) this.#heaps[item.kind].remove(lane);
  }

  /** The heads whose turn it may be: one a class, in the order in which they are to be tried. */
  candidates(): T[] {
    const heads: { readonly rank: number; readonly item: T }[] = [];
    for (const kind of CLASSES) {
      const lane = this.#heaps[kind].peek();
      const item = lane?.head;
      if (lane === undefined || item === undefined) continue;
      heads.push({ rank: lane.flow.counter - (kind === 'light' ? LIGHT_SLACK : 0), item });
    }
    return heads.sort((a, b) => a.rank - b.rank).map(({ item }) => item);
  }

  /** The head of every line, with the service that its tenant has had. */
  *lines(): Generator<{ readonly head: T; readonly counter: number }> {
    for (const kind of CLASSES)
      for (const lane of this.#heaps[kind].values()) {
        const head = lane.head;
        if (head !== undefined) yield { head, counter: lane.flow.counter };
      }
  }

  /** Whether a request of this class waits. */
  has(kind: WorkClass): boolean {
    return this.#heaps[kind].size > 0;
  }

  /** A tenant is served: nobody who comes back later starts behind where it stood. */
  serve(tenant: string, cost: number): void {
    const flow = this.flowOf(tenant);
    if (!this.#isAround(flow)) flow.counter = Math.max(flow.counter, this.#floor);
    this.#floor = Math.max(this.#floor, Math.min(flow.counter, this.#lowest()));
    this.charge(tenant, cost);
  }

  /** Adds service to a tenant's account, or takes some back. */
  charge(tenant: string, amount: number): void {
    const flow = this.flowOf(tenant);
    flow.counter += amount;
    for (const kind of CLASSES) {
      const lane = flow.lanes[kind];
      if (lane !== undefined) this.#heaps[kind].update(lane as Lane<T>);
    }
  }

  /** The tenants of whom something waits on other gateways: they keep their place in the order as if it waited here. */
  setElsewhere(tenants: Iterable<string>): void {
    const before = this.#elsewhere;
    this.#elsewhere = new Set();
    for (const tenant of tenants) {
      const flow = this.flowOf(tenant);
      if (flow.waiting === 0 && !before.has(flow)) flow.counter = Math.max(flow.counter, this.#floor);
      this.#elsewhere.add(flow);
    }
  }

  /** How much service a tenant has had, and how many of its requests wait. */
  flowOf(tenant: string): Flow {
    let flow = this.#flows.get(tenant);
    if (flow === undefined) {
      if (this.#idle.size >= REMEMBERED) this.#forget();
      flow = { tenant, counter: this.#floor, waiting: 0, lanes: {} };
      this.#flows.set(tenant, flow);
      this.#idle.add(flow);
    }
    return flow;
  }

  /** Service received, by tenant; a copy. */
  service(): ReadonlyMap<string, number> {
    return new Map([...this.#flows.values()].map(({ tenant, counter }) => [tenant, counter]));
  }

  /** Everyone who waits. */
  *all(): Generator<T> {
    for (const kind of CLASSES) {
      for (const lane of this.#heaps[kind].values()) yield* lane.values();
    }
  }

  #return(flow: Flow): void {
    if (!this.#isAround(flow)) flow.counter = Math.max(flow.counter, this.#floor);
    this.#idle.delete(flow);
  }

  #isAround(flow: Flow): boolean {
    return flow.waiting > 0 || this.#elsewhere.has(flow);
  }

  #lowest(): number {
    let lowest = Infinity;
    for (const kind of CLASSES) lowest = Math.min(lowest, this.#heaps[kind].peek()?.flow.counter ?? Infinity);
    for (const { counter } of this.#elsewhere) lowest = Math.min(lowest, counter);
    return lowest;
  }

  #laneOf(flow: Flow, kind: WorkClass): Lane<T> {
    const lane = (flow.lanes[kind] as Lane<T> | undefined) ?? new Lane<T>(flow, kind);
    flow.lanes[kind] = lane;
    return lane;
  }

  /** Half of those with nothing waiting go; whoever is at or below the floor loses nothing by it. */
  #forget(): void {
    const idle = [...this.#idle].sort((a, b) => a.counter - b.counter);
    for (const flow of idle.slice(0, Math.ceil(idle.length / 2))) {
      this.#idle.delete(flow);
      this.#flows.delete(flow.tenant);
    }
  }
}

const cameBefore = (a: Queued, b: Queued): boolean => a.order < b.order;

/** Ties are broken by name, the same on every gateway. */
function before(a: Lane<Waiting>, b: Lane<Waiting>): boolean {
  if (a.flow.counter !== b.flow.counter) return a.flow.counter < b.flow.counter;
  return a.flow.tenant < b.flow.tenant;
}
