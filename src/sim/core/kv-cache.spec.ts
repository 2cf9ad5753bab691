import { KvCache, prefixKeysOf } from './kv-cache.js';

const KEYS = ['a', 'b', 'c'];

/** Memory that has computed the three blocks of KEYS and then lost their only holder. */
function warmCache(capacityBlocks: number): KvCache {
  const kv = new KvCache(capacityBlocks);
  const holding = kv.open([], 3);
  if (holding === undefined) throw new Error('three blocks do not fit');
  kv.name(holding, KEYS, 3);
  kv.release(holding);
  return kv;
}

describe('KvCache', () => {
  it('opens nothing that does not fit as a whole', () => {
    const kv = new KvCache(4);
    expect(kv.open([], 5)).toBeUndefined();
    const holding = kv.open([], 3);
    expect(kv.usedBlocks).toBe(3);
    expect(kv.open([], 2)).toBeUndefined();
    expect(holding && kv.grow(holding, 5)).toBe(false);
    expect(kv.usedBlocks).toBe(3);
  });

  it('counts a block that many share once, until the last of them has left', () => {
    const kv = warmCache(10);
    const [one, other] = [kv.open(KEYS, 4), kv.open(KEYS, 4)];
    expect(kv.usedBlocks).toBe(5);
    if (one !== undefined) kv.release(one);
    expect([kv.usedBlocks, kv.cachedBlocks]).toEqual([4, 0]);
    if (other !== undefined) kv.release(other);
    expect([kv.usedBlocks, kv.cachedBlocks]).toEqual([0, 3]);
  });

  it('counts waking a kept block as taking room', () => {
    const kv = warmCache(4);
    expect(kv.open([], 2)).toBeDefined();
    expect(kv.hits(KEYS)).toBe(2);
    expect(kv.open(['a', 'b'], 3)).toBeUndefined();
    expect(kv.open(['a', 'b'], 2)).toBeDefined();
  });

  it('forgets the end of a prefix before its beginning', () => {
    const kv = warmCache(4);
    expect(kv.open([], 3)).toBeDefined();
    expect(kv.hits(KEYS)).toBe(1);
  });

  it('names a block once: the second to compute it keeps its own without a name', () => {
    const kv = warmCache(10);
    const holding = kv.open([], 3);
    if (holding === undefined) throw new Error('three blocks do not fit');
    kv.name(holding, KEYS, 3);
    expect(holding.keyed).toEqual([]);
    kv.release(holding);
    expect([kv.usedBlocks, kv.cachedBlocks]).toEqual([0, 3]);
  });
});

describe('prefixKeysOf', () => {
  it('gives a key for each full block, that depends on all before it', () => {
    const [one, other] = [prefixKeysOf('aaaabbbbcc', 4), prefixKeysOf('xaaabbbbcc', 4)];
    expect(one).toHaveLength(2);
    expect(prefixKeysOf('aaaabbbb', 4)).toEqual(one);
    expect(other.filter((key) => one.includes(key))).toEqual([]);
  });
});
