import { setTimeout as delay } from 'node:timers/promises';
import { exportJWK } from 'jose';
import { expectProblem } from '../support/edge-world.js';
import {
  IdentityProvider,
  issuerKey,
  keySetOf,
  type IssuerKey,
  type KeySetAnswer,
} from '../support/identity-provider.js';
import { IdentityWorld } from '../support/identity-world.js';
import type { JsonObject } from '../support/json.js';
import { sendRaw } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';

/** Never answers, or only at the end of the test. */
const silence: KeySetAnswer = () => undefined;

/** Answers with the first half of something. */
const half: KeySetAnswer = (response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
  response.write('{"keys":[');
};

const hangUp: KeySetAnswer = (response) => void response.socket?.destroy();

/** Ways in which a key endpoint can fail. */
const TROUBLE: readonly (readonly [string, KeySetAnswer])[] = [
  ['500', keySetOf({ keys: [] }, { status: 500 })],
  ['a web page', keySetOf('<html>Service unavailable</html>', { type: 'text/html' })],
  ['an empty object', keySetOf({})],
  ['no JSON', keySetOf('{"keys":')],
  ['a list', keySetOf([])],
  ['a redirect', keySetOf('', { status: 302, location: '/elsewhere' })],
  ['too much', keySetOf({ keys: [], more: 'x'.repeat(300 * 1024) })],
  ['a connection that breaks', hangUp],
  ['half an answer', half],
  ['silence', silence],
];

describe('the key set', () => {
  let world: IdentityWorld;
  let known: string;

  beforeAll(async () => {
    world = await IdentityWorld.start({}, { keyRefresh: '1s', keyGrace: '2s' });
    known = await world.identity.token('svc-chat');
    expect((await world.chat(known)).status).toBe(200);
  }, 60_000);
  afterAll(() => world.stop());
  afterEach(() => {
    world.identity.keySetAnswer = undefined;
  });

  const refreshes = async (outcome: string): Promise<number> =>
    (await world.edge.gateway.metric('jwks_refresh_total', { outcome })) ?? 0;

  it.each(TROUBLE)('K1: known keys keep working through %s', async (_, answer) => {
    const { identity } = world;
    identity.keySetAnswer = answer;
    const before = identity.keySetFetches;
    await eventually(() => identity.keySetFetches > before);
    const startedAt = performance.now();
    const fresh = await identity.sign({ sub: 'fresh' });
    for (const token of [known, fresh, known]) expect((await world.chat(token)).status).toBe(200);
    // A fetch that hangs takes two seconds; nobody waits for it.
    expect(performance.now() - startedAt).toBeLessThan(1500);
  });

  it('K1: the endpoint is gone, and comes back', async () => {
    const { identity } = world;
    await identity.pause();
    const failed = await refreshes('connect');
    await eventually(async () => (await refreshes('connect')) > failed);
    expect((await world.chat(known)).status).toBe(200);
    expect((await world.chat(await identity.sign({ sub: 'offline' }))).status).toBe(200);
    const well = await refreshes('ok');
    await identity.resume();
    await eventually(async () => (await refreshes('ok')) > well);
    expect((await sendRaw(world.edge.gateway.port, { method: 'GET', path: '/readyz' })).status).toBe(200);
  });

  it('K5: a fetch that hangs is shared by all who wait for it, and delays nobody whose key is known', async () => {
    const { identity } = world;
    const unknown = await Promise.all(
      Array.from({ length: 20 }, (_, i) => identity.sign({}, { kid: `hanging-${String(i)}` })),
    );
    const fresh = await identity.sign({ sub: 'known' });
    identity.keySetAnswer = silence;
    const before = identity.keySetFetches;
    await eventually(() => identity.keySetFetches > before);
    let answered = 0;
    const waiting = Promise.all(unknown.map((token) => world.chat(token).finally(() => (answered += 1))));
    for (const token of [known, fresh]) expect((await world.chat(token)).status).toBe(200);
    expect(answered).toBe(0);
    for (const answer of await waiting) expectProblem(answer, 503);
    expect(identity.keySetFetches).toBe(before + 1);
  });

  it.each([
    ['silence', silence],
    ['a connection that breaks', hangUp],
    ['500', keySetOf({ keys: [] }, { status: 500 })],
  ])('K2: an unknown key while there is %s: 503 in time', async (_, answer) => {
    world.identity.keySetAnswer = answer;
    const before = world.served;
    const startedAt = performance.now();
    const refused = await world.chat(await world.identity.sign({}, { kid: `new-${String(before)}` }));
    expectProblem(refused, 401, 503);
    if (refused.status === 503) expect(Number(refused.header('retry-after'))).toBeGreaterThan(0);
    expect(performance.now() - startedAt).toBeLessThan(4000);
    expect(world.served).toBe(before);
  });

  it('K7: rotates while the old key is published, and ends it when its grace is over', async () => {
    const { identity } = world;
    const first = identity.key;
    const second = await issuerKey('second', 'ES256');
    identity.publish(second, first);
    const rotated = await identity.token('svc-chat');
    // Unknown keys that were sought in vain, just before, may hold this one back until the next refresh.
    await eventually(async () => (await world.chat(rotated)).status === 200);
    expect((await world.chat(known)).status).toBe(200);
    identity.publish(second);
    const well = await refreshes('ok');
    await eventually(async () => (await refreshes('ok')) > well);
    // Within its grace.
    expect((await world.chat(known)).status).toBe(200);
    const deadline = performance.now() + 8000;
    let last = 200;
    while (last === 200 && performance.now() < deadline) {
      await delay(100);
      last = (await world.chat(known)).status;
    }
    expect(last).toBe(401);
    expect((await world.chat(rotated)).status).toBe(200);
    identity.publish(first);
    await eventually(async () => (await world.chat(known)).status === 200);
  });

  it('K8: keys that no signature may be verified with are not used', async () => {
    const { identity } = world;
    const weak = await weakKey();
    const secret = await issuerKey('secret');
    const sealed = await issuerKey('sealed');
    const odd = await issuerKey('odd', 'ES256');
    const keys = [
      identity.key.publicJwk,
      { kty: 'oct', kid: 'hmac', k: 'c2VjcmV0', alg: 'HS256', use: 'sig' },
      weak.publicJwk,
      secret.privateJwk,
      { ...sealed.publicJwk, use: 'enc' },
      { ...odd.publicJwk, crv: 'P-999' },
      null,
      'key',
    ];
    identity.keySetAnswer = keySetOf({ keys });
    const well = await refreshes('ok');
    await eventually(async () => (await refreshes('ok')) > well);
    for (const key of [secret, sealed, odd]) expectProblem(await world.chat(await identity.sign({}, {}, key)), 401);
    expect((await world.chat(known)).status).toBe(200);
  });

  it('K9: discovery is never asked, and no address but the configured one', async () => {
    const { identity } = world;
    const elsewhere = await IdentityProvider.start(['svc-chat'], await issuerKey('elsewhere'));
    identity.keySetAnswer = keySetOf('', { status: 307, location: `${elsewhere.issuer}/jwks` });
    const failed = await refreshes('status');
    await eventually(async () => (await refreshes('status')) > failed);
    const forged = await elsewhere.sign({ iss: identity.issuer });
    expectProblem(await world.chat(forged), 401, 503);
    expect(elsewhere.keySetFetches).toBe(0);
    await elsewhere.stop();
  });
});

/** RSA of 1024 bits, which Web Crypto still makes. */
async function weakKey(): Promise<{ publicJwk: JsonObject }> {
  const algorithm = {
    name: 'RSASSA-PKCS1-v1_5',
    hash: 'SHA-256',
    modulusLength: 1024,
    publicExponent: new Uint8Array([1, 0, 1]),
  };
  const { publicKey } = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  return { publicJwk: { ...(await exportJWK(publicKey)), kid: 'weak', alg: 'RS256', use: 'sig' } };
}

describe('unknown keys', () => {
  let world: IdentityWorld;

  beforeAll(async () => {
    world = await IdentityWorld.start();
  }, 60_000);
  afterAll(() => world.stop());

  it('K4: a storm of 300 costs one fetch, is refused whole, and troubles no valid caller', async () => {
    const { identity } = world;
    const good = await identity.token('svc-chat');
    expect((await world.chat(good)).status).toBe(200);
    const forged = await Promise.all(
      Array.from({ length: 300 }, (_, i) => identity.sign({}, { kid: `random-${String(i)}` })),
    );
    const before = identity.keySetFetches;
    const served = world.served;
    const canaries: number[] = [];
    const storm = (async () => {
      const answers = [];
      for (let i = 0; i < forged.length; i += 30)
        answers.push(...(await Promise.all(forged.slice(i, i + 30).map((token) => world.chat(token)))));
      return answers;
    })();
    // Some of a cached token, some of a new one each time.
    for (let i = 0; i < 20; i += 1) {
      const token = i % 2 === 0 ? good : await identity.sign({ jti: String(i) });
      canaries.push((await world.chat(token)).status);
    }
    for (const answer of await storm) expectProblem(answer, 401);
    expect(identity.keySetFetches - before).toBe(1);
    expect(canaries).toEqual(canaries.map(() => 200));
    expect(world.served - served).toBe(20);
  });
});

describe('a gateway that has no key yet', () => {
  let world: IdentityWorld;
  let lost: IssuerKey;

  beforeAll(async () => {
    const identity = await IdentityProvider.start(['svc-chat'], await issuerKey('gone'));
    await identity.stop();
    world = await IdentityWorld.start({}, { issuers: [identity.section] });
    lost = await issuerKey('lost');
  }, 60_000);
  afterAll(() => world.stop());

  const get = (path: string) => sendRaw(world.edge.gateway.port, { method: 'GET', path });

  it('K3: is not ready and says which check failed; it lives', async () => {
    const ready = await get('/readyz');
    expect(ready.status).toBe(503);
    expect(ready.json()).toMatchObject({ failed: ['jwks'], detail: expect.stringContaining('jwks') });
    expect((await get('/healthz')).status).toBe(200);
  });

  it('K3, D5: tells callers with a token to come back, and those without that they need one', async () => {
    const [issuer] = issuersOf(world);
    const answer = await world.chat(await world.identity.sign({ iss: issuer }, {}, lost));
    expectProblem(answer, 503);
    expect(answer.json()).toMatchObject({ type: expect.stringMatching(/identity-unavailable$/) });
    expect(Number(answer.header('retry-after'))).toBeGreaterThan(0);
    expectProblem(await world.chat(undefined), 401);
    expect(await world.edge.gateway.metric('auth_rejected_total', { reason: 'jwks' })).toBe(1);
    expect(world.served).toBe(0);
  });

  it('says at its start that the keys cannot be fetched', () => {
    const errors = world.edge.gateway.logs().filter(({ level }) => level === 50);
    expect(errors).toContainEqual(expect.objectContaining({ issuer: issuersOf(world)[0], outcome: 'connect' }));
  });
});

const issuersOf = (world: IdentityWorld): unknown[] =>
  world.edge.gateway.logs().flatMap(({ msg, issuers }) => (msg === 'auth is on' ? (issuers as unknown[]) : []));

describe('an issuer without an asymmetric key', () => {
  it.each([
    ['an empty object, as Authentik has it', {}],
    ['an HMAC key', { keys: [{ kty: 'oct', kid: 'hmac', k: 'c2VjcmV0', alg: 'HS256' }] }],
  ])('K10: %s: the start reports it, and none of its tokens is taken', async (_, set) => {
    const identity = await IdentityProvider.start(['svc-chat'], await issuerKey('first'));
    identity.keySetAnswer = keySetOf(set);
    const world = await IdentityWorld.start({}, { issuers: [identity.section] });
    const errors = world.edge.gateway.logs().filter(({ level }) => level === 50);
    expect(errors).toContainEqual(
      expect.objectContaining({ issuer: identity.issuer, msg: expect.stringContaining('no asymmetric key') }),
    );
    expectProblem(await world.chat(await identity.sign()), 401, 503);
    expectProblem(await world.chat(await identity.sign({}, { alg: 'RS256', kid: 'hmac' })), 401, 503);
    expect(world.served).toBe(0);
    await world.stop();
    await identity.stop();
  });
});

describe('keys that are too old', () => {
  it('end with maxKeyAge: 503 with Retry-After, and 200 again when the issuer is back', async () => {
    const world = await IdentityWorld.start({}, { keyRefresh: '1s', maxKeyAge: '2s' });
    const { identity } = world;
    const token = await identity.token('svc-chat');
    expect((await world.chat(token)).status).toBe(200);
    await identity.pause();
    await eventually(async () => (await world.chat(token)).status === 503);
    const answer = await world.chat(token);
    expectProblem(answer, 503);
    expect(Number(answer.header('retry-after'))).toBeGreaterThan(0);
    expect((await sendRaw(world.edge.gateway.port, { method: 'GET', path: '/readyz' })).status).toBe(200);
    await identity.resume();
    await eventually(async () => (await world.chat(token)).status === 200);
    await world.stop();
  });
});
