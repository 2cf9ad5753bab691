import { RecentMap } from './recent-map.js';

describe('RecentMap', () => {
  it('never holds more than it may', () => {
    const map = new RecentMap<number>(100);
    let most = 0;
    for (let i = 0; i < 10_000; i += 1) {
      map.set(`key-${i}`, i);
      most = Math.max(most, map.size);
    }
    expect(most).toBeLessThanOrEqual(100);
    expect(map.get('key-9999')).toBe(9999);
  });

  it('keeps what is asked for, however much comes besides', () => {
    const map = new RecentMap<string>(10);
    map.set('hot', 'kept');
    for (let i = 0; i < 1000; i += 1) {
      map.set(`cold-${i}`, 'forgotten');
      expect(map.get('hot')).toBe('kept');
    }
    expect(map.get('cold-0')).toBeUndefined();
  });

  it('forgets what is deleted, whichever generation it is in', () => {
    const map = new RecentMap<number>(4);
    map.set('a', 1);
    map.set('b', 2);
    map.set('c', 3);
    map.delete('a');
    map.delete('c');
    expect([map.get('a'), map.get('b'), map.get('c'), map.size]).toEqual([undefined, 2, undefined, 1]);
  });
});
