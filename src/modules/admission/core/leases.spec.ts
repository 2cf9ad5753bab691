import fc from 'fast-check';
import { Leases, type Leased } from './leases.js';

const lease = (places = 1): Leased => ({ places, at: 0, unseen: false });

describe('Leases', () => {
  it('has what was added and not deleted, wherever in the list it stood', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { maxLength: 60 }), (touched) => {
        const [leases, expected] = [new Leases<Leased>(), new Set<Leased>()];
        const all = Array.from({ length: 10 }, () => lease());
        for (const index of touched) {
          const one = all[index] ?? lease();
          if (leases.has(one)) leases.delete(one);
          else leases.add(one);
          if (!expected.delete(one)) expected.add(one);
          expect(all.filter((each) => leases.has(each))).toEqual(all.filter((each) => expected.has(each)));
          expect(new Set(leases)).toEqual(expected);
          expect(leases.size).toBe(expected.size);
        }
      }),
    );
  });

  it('does not take one for another that stands where it stood', () => {
    const leases = new Leases<Leased>();
    const [gone, next] = [lease(), lease()];
    leases.add(gone);
    leases.delete(gone);
    leases.add(next);
    expect([leases.has(gone), leases.has(next)]).toEqual([false, true]);
  });

  it('sums up the places of those that the gauges may not show, each once', () => {
    const leases = new Leases<Leased>();
    const [small, large] = [lease(1), lease(3)];
    for (const one of [small, large]) leases.add(one);
    leases.hide(large);
    leases.hide(large);
    leases.hide(small);
    expect(leases.unseenPlaces).toBe(4);
    leases.see(small);
    leases.see(small);
    expect(leases.unseenPlaces).toBe(3);
    leases.delete(large);
    expect([leases.unseenPlaces, large.unseen]).toEqual([0, false]);
    leases.hide(small);
    leases.seeAll();
    expect([leases.unseenPlaces, small.unseen]).toEqual([0, false]);
  });
});
