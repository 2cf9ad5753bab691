import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Clock } from '../../common/clock.js';
import { rightOf } from '../../common/config/access-table.js';
import { GatewayProblem } from '../../common/problem/gateway-problem.js';
import type { RequestRecord } from '../../common/request-record.js';
import type { Reservation } from '../budgets/reservation.js';
import type { CallerResolver } from '../auth/caller-resolver.js';
import type { Admittance } from './admittance.js';
import type { BodyMemory } from './body-memory.js';
import { ClientGone } from './client-gone.js';
import { upstreamTarget } from './core/prefix-table.js';
import { CLOSE } from './core/websocket-close.js';
import { parseHandshake, requireOrigin } from './core/websocket-handshake.js';
import { fieldLines, upgradeRequestFields, upgradeResponseLines } from './core/websocket-headers.js';
import { SocketSeats } from './core/websocket-seats.js';
import { SocketSide } from './core/websocket-side.js';
import { Tunnel } from './core/websocket-tunnel.js';
import { WaitingClient } from './core/websocket-waiting-client.js';
import type { Peer } from '../../common/networks.js';
import type { PrefixProxy } from './prefix-proxy.js';
import type { ProxyConfig } from './proxies.config.js';
import { pathOf } from './request-head.js';
import { maxPayloadOf, SOCKET_OPTIONS, type DialledSocket } from './websocket-client.js';
import type { SocketCall, WebSocketDialler } from './websocket-dialler.js';

/** Of a prefix without a `socket` section. */
const DEFAULT_PING_MS = 30_000;
const DEFAULT_MISSED_PONGS = 2;

/** A client that asks for a WebSocket, and the book kept on it. */
interface Opening {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly client: WaitingClient;
  readonly record: RequestRecord;
  readonly peer: Peer;
}

/** What the sockets share with all other requests. */
export interface SocketMeans {
  readonly clock: Clock;
  /** What clients send before their handshake is answered comes out of it. */
  readonly memory: BodyMemory;
}

/** WebSockets on the prefixes that allow them: the upstream's is opened first, then the client's, then both are tied. */
export class WebSocketProxy {
  readonly #seats = new SocketSeats();
  readonly #opening = new Set<WaitingClient>();
  readonly #tunnels = new Set<Tunnel>();
  #draining = false;

  constructor(
    private readonly proxies: PrefixProxy,
    private readonly admittance: Admittance,
    private readonly callers: CallerResolver,
    private readonly dialler: WebSocketDialler,
    private readonly means: SocketMeans,
  ) {}

  /** Upgrades that are not over yet, those still being opened included. */
  get openSockets(): number {
    return this.#opening.size + this.#tunnels.size;
  }

  /**
   * Settles when the tunnel is over and the record filled and closed. Rejects with a GatewayProblem while nothing has
   * been written to the client, which is then the caller's to answer, or with ClientGone.
   */
  async upgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    record: RequestRecord,
    peer: Peer,
  ): Promise<void> {
    socket.on('error', () => socket.destroy());
    using client = new WaitingClient(socket, head, this.means.memory, () => new ClientGone());
    this.#opening.add(client);
    try {
      await this.#serve({ request, socket, client, record, peer });
      record.close(this.means.clock.now());
    } finally {
      this.#opening.delete(client);
    }
  }

  /** Turns newcomers and those still being opened away, and closes every tunnel. */
  drain(): void {
    this.#draining = true;
    for (const client of this.#opening) client.abort(drainingProblem());
    for (const tunnel of this.#tunnels) tunnel.close(CLOSE.restart, 'the gateway is shutting down');
  }

  async #serve(opening: Opening): Promise<void> {
    const { request, client, record, peer } = opening;
    if (this.#draining) throw drainingProblem();
    const proxy = this.#proxyFor(request, record);
    const protocols = parseHandshake(request);
    requireOrigin(request.rawHeaders, proxy.socket?.origins);
    const call = this.#callFor(opening, proxy, protocols);
    // Its token may have to wait for its issuer's keys.
    const demand = { right: rightOf(proxy), apiKey: false };
    const caller = await client.during(this.callers.resolve(request, peer.address, demand));
    record.principal = caller;
    using _seat = this.#seats.take(proxy.prefix, caller.tenant, proxy.socket?.perTenant);
    using reservation = await this.admittance.reserveOne(caller);
    record.asksForPlace(this.means.clock.now());
    const asked = { upstream: proxy.upstream, caller, reservation, request: undefined, contextLength: 0 };
    using slot = await this.admittance.acquire(asked, client);
    record.waited(slot.waitedMs);
    const upstream = await this.dialler.dial(slot, { upstream: proxy.upstream, call }, client, record);
    reservation.settle(0);
    await this.#tunnel(opening, proxy, upstream, reservation);
  }

  #proxyFor(request: IncomingMessage, record: RequestRecord): ProxyConfig {
    const proxy = this.proxies.find(request.url ?? '');
    if (proxy !== undefined) record.route = proxy.prefix;
    if (proxy?.websocket === true) return proxy;
    throw new GatewayProblem('not-found', { detail: 'No WebSocket is served at this path.', closeConnection: true });
  }

  #callFor({ request, record, peer }: Opening, proxy: ProxyConfig, protocols: readonly string[]): SocketCall {
    const target = request.url ?? '';
    record.upstream = proxy.upstream;
    const offered = { rawHeaders: this.proxies.offered(proxy, request.rawHeaders), headers: request.headers };
    return {
      target: upstreamTarget(target, pathOf(target), proxy),
      fields: upgradeRequestFields(offered, peer, record, proxy.forward),
      protocols,
      maxMessageBytes: proxy.maxBodyBytes,
      connectMs: proxy.timeouts.connectMs,
    };
  }

  async #tunnel(
    opening: Opening,
    proxy: ProxyConfig,
    upstream: DialledSocket,
    reservation: Reservation,
  ): Promise<void> {
    const { client, record } = opening;
    const accepted = client.gone
      ? (client.signal.reason as Error)
      : accept(opening, proxy, upstream, reservation.fields);
    if (accepted instanceof Error) {
      record.upstreamOutcome = 'cancelled';
      upstream.ws.resume();
      upstream.ws.close(CLOSE.goingAway);
      throw accepted;
    }
    record.status = 101;
    record.phase = 'streaming';
    const { writeMs } = proxy.timeouts;
    const { clock } = this.means;
    const near = new SocketSide(accepted, opening.request.socket, clock, writeMs);
    const far = new SocketSide(upstream.ws, upstream.socket, clock, writeMs);
    await this.#run(new Tunnel(near, far, tunnelPolicy(proxy), record, clock), client);
  }

  async #run(tunnel: Tunnel, client: WaitingClient): Promise<void> {
    this.#opening.delete(client);
    this.#tunnels.add(tunnel);
    tunnel.start();
    await tunnel.over;
    this.#tunnels.delete(tunnel);
  }
}

const drainingProblem = (): GatewayProblem =>
  new GatewayProblem('draining', {
    detail: 'This gateway is shutting down and overloaded by that: another one will take the socket.',
    retryAfterSeconds: 5,
  });

const notTaken = (cause: string): GatewayProblem =>
  new GatewayProblem('invalid-request-head', {
    detail: 'This is no WebSocket handshake.',
    cause,
    closeConnection: true,
  });

const tunnelPolicy = ({ timeouts, socket }: ProxyConfig) => ({
  readMs: timeouts.readMs,
  totalMs: timeouts.totalMs,
  pingMs: socket?.pingMs ?? DEFAULT_PING_MS,
  missedPongs: socket?.missedPongs ?? DEFAULT_MISSED_PONGS,
});

/** Completes the client's handshake; the socket comes paused. An error: why there is none, with nothing written. */
function accept(
  { request, socket, client, record }: Opening,
  proxy: ProxyConfig,
  upstream: DialledSocket,
  budgetFields: readonly string[],
): WebSocket | Error {
  const server = new WebSocketServer({
    ...SOCKET_OPTIONS,
    noServer: true,
    clientTracking: false,
    maxPayload: maxPayloadOf(proxy.maxBodyBytes),
    handleProtocols: () => upstream.protocol ?? false,
  });
  const ownLines = fieldLines(['x-request-id', record.requestId, ...budgetFields]);
  server.on('headers', (lines) => lines.push(...ownLines, ...upgradeResponseLines(upstream.headers, proxy.forward)));
  let accepted: WebSocket | Error = new ClientGone();
  // With a listener the library answers nothing by itself; what it refuses has passed the check before the dial.
  server.on('wsClientError', ({ message }) => {
    accepted = notTaken(message);
  });
  server.handleUpgrade(request, socket, client.release(), (ws) => {
    accepted = ws;
    ws.pause();
  });
  return accepted;
}
