import type { IncomingMessage } from 'node:http';
import type { BandNames } from '../../common/band-names.js';
import type { Principal } from '../../common/principal.js';
import { callerFromHeaders, type HeaderPolicy } from './core/caller-from-headers.js';

/** Finds out who calls. */
export class CallerResolver {
  /** `isTrusted` tells whether an address may speak for others (`identityFrom`, else `trustedProxies`). */
  constructor(
    private readonly policy: HeaderPolicy,
    private readonly bands: BandNames,
    private readonly isTrusted: (address: string) => boolean,
  ) {}

  resolve(request: IncomingMessage, peerAddress: string): Principal {
    return callerFromHeaders(request.headers, this.isTrusted(peerAddress), this.policy, this.bands);
  }
}
