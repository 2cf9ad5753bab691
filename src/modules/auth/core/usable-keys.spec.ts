import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { algorithmsFor, signatureJwks } from './usable-keys.js';

const rsa = (modulusLength: number): KeyObject => generateKeyPairSync('rsa', { modulusLength }).publicKey;
const ec = (namedCurve: string): KeyObject => generateKeyPairSync('ec', { namedCurve }).publicKey;
const jwk = { kty: 'RSA', kid: 'one', use: 'sig', alg: 'RS256', n: 'AQAB', e: 'AQAB' };

describe('signatureJwks', () => {
  it('keeps the public members of a key and nothing else', () => {
    expect(signatureJwks({ keys: [{ ...jwk, x5c: ['abc'], x5u: 'https://a', ext: true }] })).toEqual([jwk]);
  });

  it.each([
    ['an HMAC key', { kty: 'oct', k: 'c2VjcmV0' }],
    ['an HMAC key in disguise', { k: 'c2VjcmV0' }],
    ['a private key', { d: 'AQAB' }],
    ['a part of a private key', { qi: 'AQAB' }],
    ['a key for encryption', { use: 'enc' }],
    ['a key for other operations', { key_ops: ['wrapKey'] }],
    ['operations that are no list', { key_ops: 'verify' }],
    ['a key of another kind', { kty: 'OKP' }],
    ['no id', { kid: undefined }],
    ['an id that is no text', { kid: 7 }],
    ['a long id', { kid: 'x'.repeat(201) }],
    ['an algorithm that is no text', { alg: ['RS256'] }],
  ])('K8: leaves out %s', (_name, more) => {
    expect(signatureJwks({ keys: [{ ...jwk, ...more }] })).toEqual([]);
  });

  it('K8: leaves out what is no key, and a second key of the same id', () => {
    const second = { ...jwk, n: 'AQAC' };
    expect(signatureJwks({ keys: [null, 'key', [jwk], jwk, second] })).toEqual([jwk]);
  });

  it('K8: looks at no more than a hundred', () => {
    const keys = Array.from({ length: 1000 }, (_, i) => ({ ...jwk, kid: `key-${i}` }));
    expect(signatureJwks({ keys })).toHaveLength(100);
  });

  it('K10: takes a set without keys for an empty one', () => {
    expect([signatureJwks({}), signatureJwks({ keys: [] })]).toEqual([[], []]);
  });

  it.each([[null], [[]], ['{}'], [7], [{ keys: {} }], [{ keys: 'key' }]])('K8: %j is no set', (document) => {
    expect(signatureJwks(document)).toBeUndefined();
  });
});

describe('algorithmsFor', () => {
  const configured = ['RS256', 'PS256', 'ES256', 'ES384'];

  it('T1: takes the algorithm that the key names, if it is configured', () => {
    const key = rsa(2048);
    expect(algorithmsFor(key, 'RS256', configured)).toEqual(['RS256']);
    expect(algorithmsFor(key, 'RS512', configured)).toEqual([]);
    expect(algorithmsFor(key, 'ES256', configured)).toEqual([]);
    expect(algorithmsFor(key, 'HS256', [...configured, 'HS256'])).toEqual([]);
  });

  it('T1: takes those of its kind where it names none', () => {
    expect(algorithmsFor(rsa(2048), undefined, configured)).toEqual(['RS256', 'PS256']);
    expect(algorithmsFor(ec('P-256'), undefined, configured)).toEqual(['ES256']);
    expect(algorithmsFor(ec('P-384'), undefined, configured)).toEqual(['ES384']);
  });

  it('K8: takes no weak key and no unknown curve', () => {
    expect(algorithmsFor(rsa(1024), 'RS256', configured)).toEqual([]);
    expect(algorithmsFor(ec('secp256k1'), undefined, configured)).toEqual([]);
    expect(algorithmsFor(generateKeyPairSync('ed25519').publicKey, undefined, configured)).toEqual([]);
  });
});
