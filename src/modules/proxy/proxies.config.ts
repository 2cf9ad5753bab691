import { browserOrigin } from '../../common/config/addresses.js';
import { ListOf, Optional, Scalar } from '../../common/config/field.js';
import { Nested } from '../../common/config/nested.js';
import { DurationMs, SizeBytes, Whole } from '../../common/config/quantities.js';
import { cleanPath, Flag, headerName, name, oneOf, scope, Text } from '../../common/config/texts.js';
import { TimeoutsConfig } from '../../common/config/timeouts.config.js';

/** What a prefix may let through. CONNECT and TRACE are left out: neither means anything behind a proxy. */
export const PROXY_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'] as const;

/** How a prefix keeps its WebSockets. */
export class SocketConfig {
  @DurationMs()
  readonly pingMs!: number;

  /** Pongs missed in a row, at the last of which the socket is closed. */
  @Whole(1)
  readonly missedPongs!: number;

  /** Open sockets of one tenant. */
  @Whole(1)
  readonly perTenant!: number;

  /** Absent: `Origin` is not checked. */
  @Optional()
  @ListOf(browserOrigin, { min: 1 })
  readonly origins?: readonly string[];
}

/** A capability behind a path prefix. */
export class ProxyConfig {
  @Scalar(cleanPath)
  readonly prefix!: string;

  /** The name of the upstream behind it. */
  @Scalar(name)
  readonly upstream!: string;

  @Flag()
  readonly stripPrefix!: boolean;

  @ListOf(oneOf(PROXY_METHODS), { min: 1 })
  readonly methods!: readonly string[];

  @Flag()
  readonly websocket!: boolean;

  @Nested(() => TimeoutsConfig)
  readonly timeouts!: TimeoutsConfig;

  /** Of a request's body, and of one message of a socket. */
  @SizeBytes()
  readonly maxBodyBytes!: number;

  /** What a token needs; `public`: no token, auth on or off. */
  @Scalar(scope)
  readonly scope!: string;

  /** What the token's groups must hold besides. Absent: nothing. */
  @Optional()
  @Text()
  readonly group?: string;

  /** Absent: pinged every 30 s, closed at the 2nd missed pong, `Origin` not checked. */
  @Optional()
  @Nested(() => SocketConfig)
  readonly socket?: SocketConfig;

  /** Where a trusted proxy puts the token of a browser. Absent: `authorization` alone. */
  @Optional()
  @Scalar(headerName)
  readonly tokenHeader?: string;

  /** Credentials that cross on this prefix. Absent: none. */
  @Optional()
  @ListOf(headerName)
  readonly forward?: readonly string[];
}

/** All prefixes, as one thing that can be injected. */
export class ProxiesConfig {
  constructor(readonly all: readonly ProxyConfig[]) {}
}
