import { generateKeyPairSync, sign } from 'node:crypto';
import { FakeClock } from '../../../test/support/fake-clock.js';
import { BandNames } from '../../common/band-names.js';
import type { Principal } from '../../common/principal.js';
import { KeySet, type FetchedKeys } from './core/key-set.js';
import { JwtVerifier } from './jwt.strategy.js';
import { TokenVerifier, type VerifierPolicy } from './token-verifier.js';

const ISSUER = 'https://id.test/o/gateway/';
const bands = new BandNames(['platinum', 'gold', 'bronze'], 'gold');
const TOLERANCE_MS = 30_000;
const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const KEY = { kid: 'one', pem: String(publicKey.export({ type: 'spki', format: 'pem' })), algorithms: ['ES256'] };

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function tokenOf(claims: object = {}, header: object = {}): string {
  const now = Math.floor(Date.now() / 1000);
  const payload = { iss: ISSUER, aud: 'gateway', sub: 'acme', scope: 'llm:chat', iat: now, exp: now + 600, ...claims };
  const signed = `${encoded({ alg: 'ES256', kid: 'one', ...header })}.${encoded(payload)}`;
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}

/** A verifier whose issuer answers with `published`, and whose wall clock stands where it is told to. */
class World {
  readonly clock = new FakeClock();
  wallMs = Date.now();
  published: FetchedKeys = { keys: [KEY] };
  verifications = 0;
  readonly tokens: TokenVerifier;
  readonly keys: KeySet;

  constructor(policy: Partial<VerifierPolicy> = {}) {
    const terms = { issuer: ISSUER, audience: ['gateway'], clockToleranceMs: TOLERANCE_MS };
    const verifier = new JwtVerifier(terms);
    const counted = {
      verify: (...given: Parameters<JwtVerifier['verify']>) => {
        this.verifications += 1;
        return verifier.verify(...given);
      },
    };
    this.keys = new KeySet(
      { refreshMs: 600_000, graceMs: 60_000, maxAgeMs: 86_400_000 },
      () => Promise.resolve(this.published),
      this.clock,
      () => undefined,
    );
    const issuers = {
      find: (name: unknown) => (name === ISSUER ? { keys: this.keys, verifier: counted } : undefined),
    };
    const whole: VerifierPolicy = {
      issuers: [terms],
      algorithms: ['ES256'],
      clockToleranceMs: TOLERANCE_MS,
      tenantClaim: 'sub',
      bandClaim: 'gateway_band',
      ...policy,
    };
    this.tokens = new TokenVerifier(whole, bands, issuers, this.clock, () => this.wallMs);
  }

  /** Rejects where the verifier throws. */
  async identify(token: string): Promise<Principal> {
    return this.tokens.identify(token);
  }

  static async loaded(policy?: Partial<VerifierPolicy>): Promise<World> {
    const world = new World(policy);
    await world.keys.start();
    return world;
  }
}

const isKnown = (found: Principal | Promise<Principal>): boolean => !(found instanceof Promise);
const refused = (reason: string) => expect.objectContaining({ reason }) as Error;

describe('TokenVerifier', () => {
  it('knows a verified token again, at once and without a promise', async () => {
    const world = await World.loaded();
    const token = tokenOf();
    const first = await world.tokens.identify(token);
    expect(first).toMatchObject({ tenant: 'acme', band: 'gold' });
    expect(world.tokens.identify(token)).toBe(first);
    expect(world.verifications).toBe(1);
  });

  it('verifies a token whose key is known on the spot', async () => {
    const world = await World.loaded();
    expect(isKnown(world.tokens.identify(tokenOf()))).toBe(true);
  });

  it('verifies a token once, however many requests bring it at the same time', async () => {
    const world = await World.loaded();
    world.published = { keys: [KEY, { ...KEY, kid: 'two' }] };
    const token = tokenOf({}, { kid: 'two' });
    const found = await Promise.all(Array.from({ length: 100 }, () => world.identify(token)));
    expect([new Set(found).size, world.verifications]).toEqual([1, 1]);
  });

  it('T8, T13: what is remembered ends with the token and its tolerance', async () => {
    const world = await World.loaded();
    const exp = Math.floor(world.wallMs / 1000) + 600;
    const token = tokenOf({ exp });
    await world.tokens.identify(token);
    world.wallMs = exp * 1000 + TOLERANCE_MS - 1;
    expect(isKnown(world.tokens.identify(token))).toBe(true);
    world.wallMs += 1;
    await expect(world.identify(token)).rejects.toThrow(refused('expired'));
  });

  it('T13: what is remembered ends with its key, when the grace is over', async () => {
    const world = await World.loaded();
    const token = tokenOf();
    await world.tokens.identify(token);
    world.published = { keys: [{ ...KEY, kid: 'two' }] };
    await world.keys.seek('two');
    world.clock.advance(59_999);
    expect(isKnown(world.tokens.identify(token))).toBe(true);
    world.clock.advance(1);
    await expect(world.identify(token)).rejects.toThrow(refused('signature'));
  });

  it('T10, T13: a token with the same first or last part as a known one is another token', async () => {
    const world = await World.loaded();
    const token = tokenOf();
    await world.tokens.identify(token);
    const [head, body, signature] = token.split('.');
    const [, otherBody, otherSignature] = tokenOf({ sub: 'other' }).split('.');
    for (const forged of [`${head}.${otherBody}.${signature}`, `${head}.${body}.${otherSignature}`])
      await expect(world.identify(forged)).rejects.toThrow(refused('signature'));
  });

  it('T13: keeps nothing of a token that is refused, and no text of one that is not', async () => {
    const world = await World.loaded();
    const token = tokenOf();
    const foreign = `${token.slice(0, -4)}AAAA`;
    for (let i = 0; i < 3; i += 1) await expect(world.identify(foreign)).rejects.toThrow(refused('signature'));
    expect(world.verifications).toBe(3);
    expect(JSON.stringify(await world.tokens.identify(token))).not.toContain(token.slice(-20));
  });

  it('verifies anew where another configuration is in force', async () => {
    const token = tokenOf();
    const lax = await World.loaded();
    await lax.tokens.identify(token);
    const strict = await World.loaded({ maxTokenLifetimeMs: 1000 });
    await expect(strict.identify(token)).rejects.toThrow(refused('expired'));
  });

  it('turns newcomers away where too many wait for the keys, but nobody whose key is known', async () => {
    const world = await World.loaded();
    world.keys.seek = () => new Promise(() => undefined);
    for (let i = 0; i < 1024; i += 1) void world.tokens.identify(tokenOf({ jti: String(i) }, { kid: 'absent' }));
    expect(() => world.tokens.identify(tokenOf({}, { kid: 'absent' }))).toThrow(
      expect.objectContaining({ code: 'identity-unavailable' }) as Error,
    );
    expect(world.tokens.identify(tokenOf())).toMatchObject({ tenant: 'acme' });
  });

  it.each([
    ['an issuer that is not configured', { iss: `${ISSUER}x` }, {}, 'issuer'],
    ['an issuer that is a list', { iss: [ISSUER] }, {}, 'issuer'],
    ['another audience', { aud: 'gateway2' }, {}, 'audience'],
    ['an algorithm that is not configured', {}, { alg: 'ES384' }, 'algorithm'],
    ['an unknown key', {}, { kid: 'absent' }, 'signature'],
  ])('refuses %s', async (_name, claims, header, reason) => {
    const world = await World.loaded();
    await expect(world.identify(tokenOf(claims, header))).rejects.toThrow(refused(reason));
  });
});
