import { hash } from 'node:crypto';
import type { BandNames } from '../../../common/band-names.js';
import type { Principal } from '../../../common/principal.js';
import { namedBand } from './bands.js';
import { ANONYMOUS } from './caller-from-headers.js';
import { unauthenticated } from './refusal.js';

/** Where claims say who calls. */
export interface IdentityPolicy {
  readonly tenantClaim: string;
  readonly bandClaim: string;
  readonly groupsClaim?: string;
  /** All whose tokens count, and whom their tokens may be meant for. */
  readonly issuers: readonly { readonly issuer: string; readonly audience: readonly string[] }[];
}

type Claims = Readonly<Record<string, unknown>>;

/** A name that stands in logs and metrics as it is. */
const PLAIN_NAME = /^[\x21-\x7e]{1,128}$/;
const HASHED = 'sha256:';

/** Who calls, by the claims of a verified token. */
export function principalFromClaims(claims: Claims, policy: IdentityPolicy, bands: BandNames): Principal {
  const band = member(claims, policy.bandClaim);
  const groups = policy.groupsClaim === undefined ? undefined : member(claims, policy.groupsClaim);
  return {
    tenant: tenantOf(claims, policy),
    band: band === undefined ? bands.defaultBand : namedBand(band, bands),
    scopes: scopesIn(claims['scope']),
    groups: new Set(Array.isArray(groups) ? groups.filter((group) => typeof group === 'string') : []),
  };
}

/** RFC 8693 section 4.2: names with one space between them. Nothing else is a list of scopes. */
const scopesIn = (scope: unknown): ReadonlySet<string> =>
  new Set(typeof scope === 'string' ? scope.split(' ').filter((name) => name !== '') : []);

/**
 * The claim's value, which is the name in logs, budgets and the queue. Where tokens of several issuers or audiences
 * count, these are part of the name: the same value of two issuers is two consumers.
 */
function tenantOf(claims: Claims, policy: IdentityPolicy): string {
  const value = member(claims, policy.tenantClaim);
  if (typeof value !== 'string' || value === '') throw unauthenticated('malformed', 'the tenant claim');
  return boundedName(value) + originOf(claims, policy);
}

/** No two values share a name, and none has the name of those that nobody vouches for. */
function boundedName(value: string): string {
  if (PLAIN_NAME.test(value) && value !== ANONYMOUS && !value.startsWith(HASHED)) return value;
  return HASHED + hash('sha256', value);
}

/** Begins with the last `@` of the whole name: no issuer's address has one, and of an audience it is encoded. */
function originOf(claims: Claims, { issuers }: IdentityPolicy): string {
  const own = issuers.find(({ issuer }) => issuer === claims['iss']);
  if (own === undefined) return '';
  if (own.audience.length > 1) {
    const meant = new Set([claims['aud']].flat());
    const audience = own.audience.find((name) => meant.has(name)) ?? '';
    return `@${own.issuer}#${encodeURIComponent(audience)}`;
  }
  return issuers.length > 1 ? `@${own.issuer}` : '';
}

const member = (claims: Claims, name: string): unknown => (Object.hasOwn(claims, name) ? claims[name] : undefined);
