import { hostAndPort, storeOr } from '../../common/config/addresses.js';
import { Optional, Scalar } from '../../common/config/field.js';
import { NestedList } from '../../common/config/nested.js';
import { DurationMs, PositiveNumber, Whole } from '../../common/config/quantities.js';
import { Flag, name, Text } from '../../common/config/texts.js';

/** No client may be told to wait longer than SDKs obey. */
const MAX_RETRY_AFTER_MS = 60_000;

/** A priority class. */
export class BandConfig {
  @Scalar(name)
  readonly name!: string;

  /** The saturation above which it waits; 1 is a full pool. */
  @PositiveNumber()
  readonly ceiling!: number;

  /** Requests that may wait. */
  @Whole(1)
  readonly capacity!: number;

  /** The longest wait. */
  @DurationMs()
  readonly ttlMs!: number;
}

/** Who runs next, and what the waiting ones are told. */
export class AdmissionConfig {
  /** none, peers or a redis:// URL. */
  @Scalar(storeOr('none', 'peers'))
  readonly store!: string;

  /** host:port behind which the other gateways' management listeners are found. */
  @Scalar(hostAndPort)
  readonly peers!: string;

  /** What the gateways prove themselves with. Required by store: peers. */
  @Optional()
  @Text()
  readonly peersSecretFile?: string;

  @Flag()
  readonly strictReserve!: boolean;

  /** Silence after which a stream gets a heartbeat. */
  @DurationMs()
  readonly heartbeatMs!: number;

  /** Silence after which the heartbeat is an event, for clients that count no comments. */
  @DurationMs()
  readonly heartbeatEventsAfterMs!: number;

  /** Told to rejected callers where no better time is known. */
  @DurationMs({ maxMs: MAX_RETRY_AFTER_MS })
  readonly retryAfterMs!: number;

  /** The name of the band of a caller that has no other. */
  @Scalar(name)
  readonly defaultBand!: string;

  /** Highest first. */
  @NestedList(() => BandConfig, { min: 1 })
  readonly bands!: readonly BandConfig[];
}
