import type { KeyObject } from 'node:crypto';

/** A public key that tokens may be signed with. */
export interface PublishedKey {
  readonly kid: string;
  /** SubjectPublicKeyInfo, PEM. */
  readonly pem: string;
  /** Configured algorithms that are right for it: the one that it names, or those of its kind. */
  readonly algorithms: readonly string[];
}

type Json = Readonly<Record<string, unknown>>;

/** More keys than this no issuer has at once. */
const MAX_KEYS = 100;
const MAX_KID_CHARS = 200;
const RSA_BITS = { least: 2048, most: 8192 };
/** RFC 7518 section 6: members that are secret. A key that shows them is everybody's. */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];
const PUBLIC_MEMBERS = ['kty', 'kid', 'alg', 'use', 'n', 'e', 'crv', 'x', 'y'];
const ALGORITHM_OF_CURVE: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Of a JWK set, the keys that may verify a signature, with their public members alone. undefined: it is no such set. */
export function signatureJwks(document: unknown): readonly Json[] | undefined {
  if (!isObject(document)) return undefined;
  const { keys = [] } = document;
  if (!Array.isArray(keys)) return undefined;
  const seen = new Set<unknown>();
  return keys
    .slice(0, MAX_KEYS)
    .filter(isObject)
    .filter((jwk) => isForSignatures(jwk) && !seen.has(jwk['kid']) && seen.add(jwk['kid']))
    .map((jwk) => Object.fromEntries(PUBLIC_MEMBERS.filter((name) => name in jwk).map((name) => [name, jwk[name]])));
}

function isForSignatures(jwk: Json): boolean {
  const { kty, kid, use, alg, key_ops: uses } = jwk;
  if (kty !== 'RSA' && kty !== 'EC') return false;
  if (typeof kid !== 'string' || kid === '' || kid.length > MAX_KID_CHARS) return false;
  if (use !== undefined && use !== 'sig') return false;
  if (alg !== undefined && typeof alg !== 'string') return false;
  if (uses !== undefined && !(Array.isArray(uses) && uses.includes('verify'))) return false;
  return !PRIVATE_MEMBERS.some((name) => Object.hasOwn(jwk, name));
}

/** The configured algorithms that a key may be used with. None: the key is too weak, of another kind, or for another one. */
export function algorithmsFor(key: KeyObject, named: string | undefined, configured: readonly string[]): string[] {
  const possible = configured.filter((algorithm) => fits(key, algorithm));
  return named === undefined ? possible : possible.filter((algorithm) => algorithm === named);
}

function fits({ asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject, algorithm: string): boolean {
  const { modulusLength = 0, namedCurve = '' } = asymmetricKeyDetails;
  if (asymmetricKeyType === 'ec') return ALGORITHM_OF_CURVE[namedCurve] === algorithm;
  if (asymmetricKeyType !== 'rsa' || modulusLength < RSA_BITS.least || modulusLength > RSA_BITS.most) return false;
  return algorithm.startsWith('RS') || algorithm.startsWith('PS');
}
