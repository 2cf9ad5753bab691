import { setTimeout as delay } from 'node:timers/promises';
import { RedisServer } from '../../../test/support/redis-server.js';
import { eventually } from '../../../test/support/socket-world.js';
import { systemClock } from '../../common/clock.js';
import { RedisClient } from '../shared-store/redis-client.js';
import type { Claim } from './core/shared-ledger.js';
import { SharedClaims } from './shared-claims.js';

const PLACES = 4;
const POOL_PLACES = 6;
const KEY = 'llmgw:slots:{engines}';

const asked: string[] = [];

interface Wish {
  readonly endpoint?: string;
  readonly places?: number;
  readonly kvTokens?: number;
  readonly whenIdle?: boolean;
}

function claimOf({ endpoint = 'a:80', places = 1, kvTokens = 100, whenIdle = false }: Wish = {}): Claim {
  const size = { band: 0, kind: 'light' as const, promptTokens: 10, estimateMs: 10, grantedAgoMs: 0 };
  const limits = { endpointPlaces: PLACES, poolPlaces: POOL_PLACES, endpointKvTokens: 1000 };
  const id = `lease-${String(asked.length)}`;
  asked.push(id);
  return { id, lease: { endpoint, places, kvTokens, ...size }, ...limits, whenIdle };
}

let redis: RedisServer;
let stores: RedisClient[];
let all: SharedClaims[];

/** Gateways that share the store. */
async function gateways(count: number): Promise<SharedClaims[]> {
  stores = Array.from({ length: count }, () => new RedisClient(redis.url, systemClock));
  await Promise.all(stores.map((store) => store.ready(5000)));
  expect(stores.map(({ up }) => up)).toEqual(stores.map(() => true));
  all = stores.map((store) => new SharedClaims(store, 'engines', systemClock));
  return all;
}

const held = async (): Promise<number> => Number((await redis.command(`ZCARD ${KEY}`)).slice(1));

beforeAll(async () => {
  redis = await RedisServer.start();
}, 20_000);
afterAll(() => redis.stop(), 20_000);
beforeEach(() => redis.restart(), 20_000);
afterEach(async () => {
  for (const id of asked) for (const claims of all) claims.release(id);
  for (const store of stores) await store.close();
});

describe('claims on places that several gateways share', () => {
  it('never pass the limits of an endpoint or of the pool, whoever asks, and every place is given once', async () => {
    const [one] = await gateways(3);
    const tries = Array.from({ length: 60 }, (_, at) => claimOf({ endpoint: at % 2 === 0 ? 'a:80' : 'b:80' }));
    const granted = await Promise.all(tries.map(async (claim, at) => all[at % 3]?.claim(claim)));
    const taken = tries.filter((_, at) => granted[at] === true);
    expect(taken).toHaveLength(POOL_PLACES);
    for (const endpoint of ['a:80', 'b:80'])
      expect(taken.filter(({ lease }) => lease.endpoint === endpoint).length).toBeLessThanOrEqual(PLACES);
    expect(await held()).toBe(POOL_PLACES);
    // Whoever gives it back, twice or not, and a place that was never there.
    tries.forEach(({ id }, at) => all[at % 3]?.release(id));
    tries.forEach(({ id }, at) => all[at % 3]?.release(id));
    await eventually(async () => (await held()) === 0);
    expect(await redis.command(`HGET ${KEY}:sums all`)).toBe('$1');
    expect(await one?.claim(claimOf({ places: PLACES }))).toBe(true);
  });

  it('are given back where they hold no memory at all', async () => {
    const [one] = await gateways(1);
    const claims = Array.from({ length: PLACES }, () => claimOf({ kvTokens: 0 }));
    for (const claim of claims) expect(await one?.claim(claim)).toBe(true);
    for (const { id } of claims) one?.release(id);
    for (let at = 0; at < PLACES; at += 1) expect(await one?.claim(claimOf({ kvTokens: 0 }))).toBe(true);
  });

  it('count places and KV tokens, and let an idle endpoint take what is larger than its limits', async () => {
    const [one, two] = await gateways(2);
    expect(await one?.claim(claimOf({ kvTokens: 5000 }))).toBe(false);
    const large = claimOf({ kvTokens: 5000, places: 5, whenIdle: true });
    expect(await one?.claim(large)).toBe(true);
    expect(await two?.claim(claimOf({ whenIdle: true }))).toBe(false);
    one?.release(large.id);
    await eventually(async () => (await held()) === 0);
    expect(await two?.claim(claimOf({ kvTokens: 600 }))).toBe(true);
    expect(await one?.claim(claimOf({ kvTokens: 600 }))).toBe(false);
    expect(await one?.claim(claimOf({ kvTokens: 400 }))).toBe(true);
  });

  it('pass at once while the store is out, and are in it again when it is back, though it has lost everything', async () => {
    const [one, two] = await gateways(2);
    const before = claimOf();
    expect(await one?.claim(before)).toBe(true);
    await redis.kill();
    await eventually(() => stores.every(({ up }) => !up));
    const meanwhile = Array.from({ length: PLACES + 2 }, () => claimOf());
    expect(meanwhile.map((claim) => one?.claim(claim))).toEqual(meanwhile.map(() => true));
    const gone = meanwhile.pop();
    one?.release(gone?.id ?? '');
    await redis.restart();
    await eventually(() => stores.every(({ up }) => up));
    // They run, whatever the limit: nobody else gets a place before there is one.
    await eventually(async () => (await held()) === 1 + meanwhile.length);
    expect(await two?.claim(claimOf())).toBe(false);
    for (const { id } of meanwhile.slice(0, 3)) one?.release(id);
    await eventually(async () => (await held()) === PLACES - 1);
    expect(await two?.claim(claimOf())).toBe(true);
    expect(await two?.claim(claimOf())).toBe(false);
  });

  it('do not wait for a store that stands still, and leave nothing in it when it goes on', async () => {
    const [one, two] = await gateways(2);
    redis.pause();
    const claims = Array.from({ length: 3 }, () => claimOf());
    expect(await Promise.all(claims.map(async (claim) => one?.claim(claim)))).toEqual([false, false, false]);
    expect(stores[0]?.up).toBe(false);
    const without = claimOf();
    expect(one?.claim(without)).toBe(true);
    redis.resume();
    await eventually(() => stores.every(({ up }) => up));
    await eventually(async () => (await held()) === 1);
    expect(await two?.claim(claimOf({ places: 3 }))).toBe(true);
    expect(await two?.claim(claimOf())).toBe(false);
  });

  it('that a gateway gives back while it is without the store stay its own there until it has come back', async () => {
    const [one, two] = await gateways(2);
    const claims = Array.from({ length: PLACES }, () => claimOf());
    for (const claim of claims) expect(await one?.claim(claim)).toBe(true);
    redis.pause();
    expect(await one?.claim(claimOf({ endpoint: 'b:80' }))).toBe(false);
    claims.forEach(({ id }) => one?.release(id));
    const reused = claimOf();
    expect(one?.claim(reused)).toBe(true);
    redis.resume();
    await eventually(() => stores.every(({ up }) => up));
    await eventually(async () => (await held()) === 1);
    expect(await two?.claim(claimOf({ places: PLACES }))).toBe(false);
    expect(await two?.claim(claimOf({ places: PLACES - 1 }))).toBe(true);
  });

  it('that nobody renews are let go of after 15 s, and those of a gateway that runs are not', async () => {
    const [one, two] = await gateways(2);
    for (let at = 0; at < PLACES / 2; at += 1) {
      expect(await one?.claim(claimOf())).toBe(true);
      expect(await two?.claim(claimOf())).toBe(true);
    }
    // As a kill would: nothing is said any more.
    await stores[1]?.close();
    const killedAt = performance.now();
    expect(await one?.claim(claimOf())).toBe(false);
    let granted = false;
    while (!granted && performance.now() - killedAt < 20_000) {
      await delay(250);
      granted = (await one?.claim(claimOf())) === true;
    }
    expect(performance.now() - killedAt).toBeGreaterThan(9_000);
    expect(performance.now() - killedAt).toBeLessThan(16_500);
    expect(await held()).toBe(PLACES / 2 + 1);
  }, 30_000);
});
