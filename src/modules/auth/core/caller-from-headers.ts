import type { BandNames } from '../../../common/band-names.js';
import type { Principal } from '../../../common/principal.js';
import { lowerBand, namedBand } from './bands.js';

/** What decides who calls while auth is off. */
export interface HeaderPolicy {
  readonly bandHeader: string;
  readonly tenantHeader: string;
  readonly bandHeaderTrust: 'lower' | 'any';
}

/** The tenant of all callers that nobody vouches for. */
export const ANONYMOUS = 'anonymous';
const TENANT = /^[\x21-\x7e]{1,128}$/;

type Fields = Readonly<Record<string, string | string[] | undefined>>;

/**
 * The caller of a request while auth is off: the two headers count from a trusted peer only, and the band's only
 * downwards from the default, unless the configuration believes it as it is. Unknown bands are the lowest.
 */
export function callerFromHeaders(fields: Fields, trusted: boolean, policy: HeaderPolicy, bands: BandNames): Principal {
  if (!trusted) return { tenant: ANONYMOUS, band: bands.defaultBand, scopes: undefined };
  const tenant = fields[policy.tenantHeader.toLowerCase()];
  return {
    tenant: typeof tenant === 'string' && TENANT.test(tenant) ? tenant : ANONYMOUS,
    band: bandFrom(fields[policy.bandHeader.toLowerCase()], policy, bands),
    scopes: undefined,
  };
}

function bandFrom(asked: string | string[] | undefined, policy: HeaderPolicy, bands: BandNames): string {
  if (asked === undefined) return bands.defaultBand;
  const named = namedBand(asked, bands);
  return policy.bandHeaderTrust === 'any' ? named : lowerBand(named, bands.defaultBand, bands);
}
