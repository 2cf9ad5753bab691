import { network, webUrl } from '../../common/config/addresses.js';
import { ListOf, Optional, Scalar } from '../../common/config/field.js';
import { NestedList } from '../../common/config/nested.js';
import { DurationMs } from '../../common/config/quantities.js';
import { anyText, Flag, headerName, OneOf, oneOf, Text } from '../../common/config/texts.js';

/** Asymmetric ones only: a public key must never pass for a shared secret. The JWT library knows no EdDSA. */
export const SIGNATURE_ALGORITHMS = [
  'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512',
] as const; // prettier-ignore

const MAX_CLOCK_TOLERANCE_MS = 60_000;
/** Ten years. A token's life is compared, never waited for, so it need not fit a timer. */
const MAX_LIFETIME_MS = 87_600 * 3_600_000;

/** Whose tokens count, for whom, and where their keys are. */
export class IssuerConfig {
  /** Compared with `iss` character by character. */
  @Scalar(webUrl)
  readonly issuer!: string;

  @Scalar(webUrl)
  readonly jwksUri!: string;

  /** A token must be meant for one of them. */
  @ListOf(anyText, { min: 1 })
  readonly audience!: readonly string[];
}

/** Who calls, and how that is known. */
export class AuthConfig {
  @Flag()
  readonly enabled!: boolean;

  @NestedList(() => IssuerConfig)
  readonly issuers!: readonly IssuerConfig[];

  @ListOf(oneOf(SIGNATURE_ALGORITHMS), { min: 1 })
  readonly algorithms!: readonly string[];

  @DurationMs({ zero: true, maxMs: MAX_CLOCK_TOLERANCE_MS })
  readonly clockToleranceMs!: number;

  /** Whose turn it is, and whose budget. */
  @Text()
  readonly tenantClaim!: string;

  /** The highest band that the token may use. */
  @Text()
  readonly bandClaim!: string;

  /** How long keys outlive an issuer that is down. */
  @DurationMs()
  readonly maxKeyAgeMs!: number;

  /** Absent: 10 minutes. */
  @Optional()
  @DurationMs()
  readonly keyRefreshMs?: number;

  /** How long a key that has left the set is still good. Absent: not at all. */
  @Optional()
  @DurationMs({ zero: true })
  readonly keyGraceMs?: number;

  /** A token whose `exp` is further away is refused. Absent: a year. */
  @Optional()
  @DurationMs({ maxMs: MAX_LIFETIME_MS })
  readonly maxTokenLifetimeMs?: number;

  /** Absent: groups are not read. */
  @Optional()
  @Text()
  readonly groupsClaim?: string;

  /** Networks from which the two headers below are believed. Absent: the trusted proxies. */
  @Optional()
  @ListOf(network, { min: 1 })
  readonly identityFrom?: readonly string[];

  @Scalar(headerName)
  readonly bandHeader!: string;

  @Scalar(headerName)
  readonly tenantHeader!: string;

  /** lower: never above the token's or the default band. any: believed as it is. */
  @OneOf(['lower', 'any'])
  readonly bandHeaderTrust!: 'lower' | 'any';
}
