import fc from 'fast-check';
import { FlowQueue, type Lane, type Queued } from './flow-queue.js';
import type { WorkClass } from './pool-types.js';

class Item implements Queued {
  waits = false;
  lane: Lane<this> | undefined;

  constructor(
    readonly tenant: string,
    readonly kind: WorkClass = 'light',
    readonly estimateMs = 10,
    readonly order = 0,
  ) {}
}

const servedOrder = (queue: FlowQueue<Item>, cost: (item: Item) => number, count: number): string[] => {
  const order: string[] = [];
  for (let i = 0; i < count; i += 1) {
    const [next] = queue.candidates();
    if (next === undefined) break;
    queue.remove(next);
    queue.serve(next.tenant, cost(next));
    order.push(next.tenant);
  }
  return order;
};

describe('FlowQueue', () => {
  it('takes tenants in turn, however many requests one of them sends', () => {
    const queue = new FlowQueue<Item>();
    for (const tenant of ['acme', 'acme', 'acme', 'bolt', 'bolt']) queue.add(new Item(tenant), false);
    expect(servedOrder(queue, () => 1, 5)).toEqual(['acme', 'bolt', 'acme', 'bolt', 'acme']);
  });

  it('weighs requests by their cost: one huge prompt buys no more than many small ones', () => {
    const queue = new FlowQueue<Item>();
    for (let i = 0; i < 40; i += 1) queue.add(new Item('small'), false);
    for (let i = 0; i < 4; i += 1) queue.add(new Item('huge'), false);
    const order = servedOrder(queue, ({ tenant }) => (tenant === 'huge' ? 10 : 1), 22);
    expect(order.filter((tenant) => tenant === 'huge')).toHaveLength(2);
  });

  it('lets nobody bank the time in which they asked for nothing', () => {
    const queue = new FlowQueue<Item>();
    queue.serve('busy', 1000);
    queue.serve('busy', 1000);
    for (let i = 0; i < 4; i += 1) queue.add(new Item('late'), false);
    for (let i = 0; i < 4; i += 1) queue.add(new Item('busy'), false);
    const order = servedOrder(queue, () => 1000, 8);
    expect(order.slice(0, 3)).toContain('busy');
    expect(order.indexOf('busy')).toBeLessThanOrEqual(2);
  });

  it.each(['amber', 'zebra'])('has the turn of a tenant that comes back next, whatever it is called: %s', (quiet) => {
    const queue = new FlowQueue<Item>();
    for (let i = 0; i < 40; i += 1) queue.add(new Item('noisy'), false);
    for (let turns = 0; turns < 3; turns += 1) {
      expect(servedOrder(queue, () => 1000, 4)).not.toContain(quiet);
      queue.add(new Item(quiet), false);
      expect(servedOrder(queue, () => 1000, 1)).toEqual([quiet]);
    }
  });

  it('gives who comes back again and again no more than its share', () => {
    const queue = new FlowQueue<Item>();
    for (let i = 0; i < 40; i += 1) queue.add(new Item('noisy'), false);
    const order: string[] = [];
    for (let i = 0; i < 20; i += 1) {
      if (!order.slice(-1).includes('quiet')) queue.add(new Item('quiet'), false);
      order.push(...servedOrder(queue, () => 1000, 1));
    }
    expect(order.filter((tenant) => tenant === 'quiet').length).toBeLessThanOrEqual(11);
  });

  it('forgets tenants in time, but none that waits', () => {
    const queue = new FlowQueue<Item>();
    for (let i = 0; i < 12_000; i += 1) queue.add(new Item(`waits-${i}`), false);
    for (let i = 0; i < 25_000; i += 1) queue.serve(`came-${i}`, 1);
    const remembered = [...queue.service().keys()];
    expect(remembered.filter((tenant) => tenant.startsWith('waits'))).toHaveLength(12_000);
    expect(remembered.length).toBeLessThanOrEqual(12_000 + 10_000);
    expect(remembered).toContain('came-24999');
  });

  it('keeps the order of a tenant within a class, and lets who was sent back go first', () => {
    const queue = new FlowQueue<Item>();
    const [a, b, c] = [new Item('x'), new Item('x'), new Item('x')];
    queue.add(a, false);
    queue.add(b, false);
    queue.add(c, true);
    const order: Item[] = [];
    for (let i = 0; i < 3; i += 1) {
      const [next] = queue.candidates();
      if (next === undefined) break;
      order.push(next);
      queue.remove(next);
    }
    expect(order).toEqual([c, a, b]);
  });

  it('never lets a blocked class block another', () => {
    const queue = new FlowQueue<Item>();
    queue.add(new Item('x', 'long'), false);
    queue.add(new Item('x', 'light'), false);
    queue.add(new Item('x', 'heavy'), false);
    expect(
      queue
        .candidates()
        .map(({ kind }) => kind)
        .sort(),
    ).toEqual(['heavy', 'light', 'long']);
  });

  it('recounts to the same after any order of arrivals, departures and service', () => {
    const act = fc.record({
      do: fc.constantFrom('add', 'front', 'remove', 'serve'),
      tenant: fc.constantFrom('a', 'b', 'c'),
      at: fc.nat(30),
      kind: fc.constantFrom<WorkClass>('light', 'heavy', 'long'),
    });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 80 }), (acts) => {
        const queue = new FlowQueue<Item>();
        const waiting: Item[] = [];
        for (const { do: what, tenant, at, kind } of acts) {
          if (what === 'serve') queue.serve(tenant, at);
          else if (what === 'remove')
            for (const item of waiting.splice(at % Math.max(1, waiting.length), 1)) queue.remove(item);
          else {
            const item = new Item(tenant, kind, at);
            waiting.push(item);
            queue.add(item, what === 'front');
          }
          expect(queue.size).toBe(waiting.length);
          expect(queue.estimateMs).toBe(waiting.reduce((sum, item) => sum + item.estimateMs, 0));
          expect(new Set(queue.all())).toEqual(new Set(waiting));
          const counters = queue.service();
          for (const head of queue.candidates()) {
            const rivals = waiting
              .filter((item) => item.kind === head.kind)
              .map((item) => counters.get(item.tenant) ?? 0);
            expect(counters.get(head.tenant)).toBe(Math.min(...rivals));
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});
