import { baseUrl, hostAndPort, network } from './addresses.js';
import { ListOf, Optional, Scalar } from './field.js';
import { DurationMs, SizeBytes, Whole } from './quantities.js';

/** The listeners and what one connection may take. */
export class ServerConfig {
  /** host:port of the public surface; port 0: any free one. */
  @Scalar(hostAndPort)
  readonly listen!: string;

  /** host:port of metrics and the operator's page; never routed publicly. */
  @Scalar(hostAndPort)
  readonly management!: string;

  /** Networks and addresses whose forwarding headers are believed. */
  @ListOf(network)
  readonly trustedProxies!: readonly string[];

  @DurationMs()
  readonly headersTimeoutMs!: number;

  @DurationMs()
  readonly bodyTimeoutMs!: number;

  @DurationMs()
  readonly keepAliveTimeoutMs!: number;

  @SizeBytes()
  readonly maxHeaderSizeBytes!: number;

  /** After SIGTERM: how long running streams may finish. */
  @DurationMs()
  readonly drainTimeoutMs!: number;

  /** After SIGTERM: how long the listener still accepts. Absent: 5 s. */
  @Optional()
  @DurationMs({ zero: true })
  readonly drainDelayMs?: number;

  /** Sockets of clients at once. Absent: what the descriptors allow. */
  @Optional()
  @Whole(1)
  readonly maxConnections?: number;

  /** Request bodies held at once, all together. Absent: a quarter of the memory there is. */
  @Optional()
  @SizeBytes()
  readonly bodyMemoryBytes?: number;

  /** Prefix of a problem's `type`. */
  @Scalar(baseUrl)
  readonly problemBase!: string;

  /** How many gateways share the engines. */
  @Whole(1)
  readonly replicas!: number;

  /** Processes of this gateway. */
  @Whole(1)
  readonly workers!: number;
}
