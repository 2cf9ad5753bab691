import { FakeClock } from '../../../../test/support/fake-clock.js';
import { KeySet, SEEK_INTERVAL_MS, type FetchedKeys, type KeySetPolicy } from './key-set.js';
import type { PublishedKey } from './usable-keys.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const USUAL: KeySetPolicy = { refreshMs: 10 * MINUTE_MS, graceMs: 5 * MINUTE_MS, maxAgeMs: 24 * HOUR_MS };

const key = (kid: string, pem = `pem of ${kid}`): PublishedKey => ({ kid, pem, algorithms: ['RS256'] });

/** Lets promises settle; no time passes. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** An issuer that publishes what it is told to; `hold` keeps its answers back. */
class World {
  readonly clock = new FakeClock();
  readonly outcomes: string[] = [];
  published: FetchedKeys = { keys: [key('first')] };
  fetches = 0;
  hold = false;
  private readonly held: (() => void)[] = [];
  readonly keys: KeySet;

  constructor(policy: Partial<KeySetPolicy> = {}) {
    const fetch = async (): Promise<FetchedKeys> => {
      this.fetches += 1;
      if (this.hold) await new Promise<void>((resolve) => this.held.push(resolve));
      return this.published;
    };
    this.keys = new KeySet({ ...USUAL, ...policy }, fetch, this.clock, (outcome) => this.outcomes.push(outcome));
  }

  static async loaded(policy?: Partial<KeySetPolicy>): Promise<World> {
    const world = new World(policy);
    await world.keys.start();
    return world;
  }

  /** Lets time pass in steps, so that each fetch comes to its end before the next. */
  async pass(ms: number, stepMs = 1000): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      this.clock.advance(Math.min(stepMs, ms - passed));
      await settled();
    }
  }

  release(): void {
    this.hold = false;
    for (const resolve of this.held.splice(0)) resolve();
  }
}

describe('the keys of an issuer', () => {
  it('are there after the first fetch, and found at once', async () => {
    const { keys } = await World.loaded();
    expect(keys.find('first')?.published).toEqual(key('first'));
    expect([keys.loaded, keys.find('other'), keys.find('__proto__')]).toEqual([true, undefined, undefined]);
  });

  it('are fetched anew every so often', async () => {
    const world = await World.loaded();
    await world.pass(30 * MINUTE_MS, MINUTE_MS);
    expect(world.fetches).toBe(4);
  });

  it('K1: outlive an issuer that is down, for as long as they may and no longer', async () => {
    const world = await World.loaded();
    world.published = { fault: 'connect' };
    await world.pass(24 * HOUR_MS - MINUTE_MS, MINUTE_MS);
    expect(world.keys.find('first')).toBeDefined();
    await world.pass(MINUTE_MS, MINUTE_MS);
    expect(world.keys.find('first')).toBeUndefined();
    expect(await world.keys.seek('first')).toBe('unavailable');
    expect(world.keys.loaded).toBe(true);
    world.published = { keys: [key('first')] };
    await world.pass(MINUTE_MS);
    expect(world.keys.find('first')).toBeDefined();
  });

  it('K1: stay where the issuer answers with a set that holds nothing usable', async () => {
    const world = await World.loaded();
    world.published = { fault: 'no_keys' };
    await world.pass(HOUR_MS, MINUTE_MS);
    expect(world.keys.find('first')).toBeDefined();
    expect(new Set(world.outcomes)).toEqual(new Set(['ok', 'no_keys']));
  });

  it('an issuer that is down is asked again after 1, 2, 4 … 30 seconds', async () => {
    const world = new World();
    world.published = { fault: 'timeout' };
    await world.keys.start();
    const at: number[] = [];
    for (let second = 1; second <= 120; second += 1) {
      const before = world.fetches;
      await world.pass(1000);
      if (world.fetches > before) at.push(second);
    }
    expect(at).toEqual([1, 3, 7, 15, 31, 61, 91]);
  });

  it('K2: an unknown key is unavailable while the issuer is', async () => {
    const world = await World.loaded();
    world.published = { fault: 'timeout' };
    expect(await world.keys.seek('new')).toBe('unavailable');
    expect(await world.keys.seek('newer')).toBe('unavailable');
    expect(world.fetches).toBe(2);
  });

  it('K3: none has ever come: every key is unavailable', async () => {
    const world = new World();
    world.published = { fault: 'status' };
    await world.keys.start();
    expect([world.keys.loaded, await world.keys.seek('first')]).toEqual([false, 'unavailable']);
  });

  it('K4: 300 unknown keys cost one fetch at once, and three in half a minute', async () => {
    const world = await World.loaded();
    const answers = await Promise.all(Array.from({ length: 300 }, (_, i) => world.keys.seek(`random-${i}`)));
    expect([world.fetches - 1, new Set(answers)]).toEqual([1, new Set(['unknown'])]);
    for (let i = 0; i < 300; i += 1) {
      expect(await world.keys.seek(`spread-${i}`)).toBe('unknown');
      world.clock.advance((3 * SEEK_INTERVAL_MS - 1) / 300);
    }
    expect(world.fetches - 1).toBe(3);
  });

  it('K5: one fetch serves all who wait, and delays nobody whose key is known', async () => {
    const world = await World.loaded();
    world.hold = true;
    world.published = { keys: [key('first'), key('second')] };
    const waiting = Promise.all(Array.from({ length: 50 }, () => world.keys.seek('second')));
    await settled();
    expect([world.fetches, world.keys.find('first')?.published.kid]).toEqual([2, 'first']);
    world.release();
    const found = await waiting;
    expect(found.every((each) => typeof each === 'object' && each.published.kid === 'second')).toBe(true);
    expect(world.fetches).toBe(2);
  });

  it('K6: a new key is found within 30 s, while unknown ones keep being asked for', async () => {
    const world = await World.loaded();
    let foundAfterMs: number | undefined;
    for (let i = 0; i < 300 && foundAfterMs === undefined; i += 1) {
      await world.keys.seek(`random-${i}`);
      // Published right behind the fetch that the storm has set off.
      if (i === 1) world.published = { keys: [key('first'), key('new')] };
      if (world.keys.find('new') !== undefined) foundAfterMs = i * 100;
      world.clock.advance(100);
    }
    expect(foundAfterMs).toBeLessThanOrEqual(30_000);
  });

  it('an issuer may rotate as fast as it likes: what is found holds nothing back', async () => {
    const world = await World.loaded();
    for (let i = 0; i < 20; i += 1) {
      world.published = { keys: [key(`rotated-${i}`)] };
      expect(await world.keys.seek(`rotated-${i}`)).toMatchObject({ published: { kid: `rotated-${i}` } });
    }
  });

  it('K7: a key that has left the set is good for its grace, and then for nothing', async () => {
    const world = await World.loaded();
    const held = world.keys.find('first');
    world.published = { keys: [key('second')] };
    await world.keys.seek('second');
    await world.pass(5 * MINUTE_MS - 1000, MINUTE_MS);
    expect(world.keys.find('first')).toBe(held);
    await world.pass(1000);
    expect([world.keys.find('first'), held !== undefined && held.goodUntilMs <= world.clock.now()]).toEqual([
      undefined,
      true,
    ]);
  });

  it('K7: later fetches do not prolong the grace, and a key that comes back needs none', async () => {
    const world = await World.loaded({ refreshMs: MINUTE_MS });
    world.published = { keys: [key('second')] };
    await world.pass(4 * MINUTE_MS, MINUTE_MS);
    expect(world.keys.find('first')).toBeDefined();
    world.published = { keys: [key('second'), key('first')] };
    await world.pass(HOUR_MS, MINUTE_MS);
    expect(world.keys.find('first')).toBeDefined();
    world.published = { keys: [key('second')] };
    await world.pass(6 * MINUTE_MS, MINUTE_MS);
    expect(world.keys.find('first')).toBeUndefined();
  });

  it('K7: without a grace a key ends with its publication', async () => {
    const world = await World.loaded({ graceMs: 0 });
    const held = world.keys.find('first');
    world.published = { keys: [key('second')] };
    await world.keys.seek('second');
    expect([world.keys.find('first'), held?.goodUntilMs]).toEqual([undefined, world.clock.now()]);
  });

  it('an id that names another key ends the old one at once', async () => {
    const world = await World.loaded();
    const held = world.keys.find('first');
    world.published = { keys: [key('first', 'another pem')] };
    await world.pass(10 * MINUTE_MS, MINUTE_MS);
    expect(world.keys.find('first')?.published.pem).toBe('another pem');
    expect(held?.goodUntilMs).toBe(-Infinity);
  });

  it('stops: no timer is left, and what still comes is not taken', async () => {
    const world = await World.loaded();
    world.hold = true;
    const sought = world.keys.seek('second');
    world.published = { keys: [key('second')] };
    world.keys.stop();
    world.release();
    expect([await sought, world.clock.timers]).toEqual(['unknown', 0]);
  });
});
