import type { Clock } from '../../common/clock.js';
import type { RoutingTable } from '../../common/config/routing-table.js';
import type { RequestRecord } from '../../common/request-record.js';
import type { Departing, Slot } from '../admission/slot.js';
import { upstreamFailure, type UpstreamFailure } from './core/upstream-problem.js';
import type { UpstreamCredentials } from './upstream-credentials.js';
import { dialWebSocket, type DialledSocket, type UpgradeCall } from './websocket-client.js';

/** The client's side of a handshake: what to ask an upstream for, whichever of its endpoints that will be. */
export type SocketCall = Omit<UpgradeCall, 'origin' | 'authority' | 'authorization'>;

export interface SocketDestination {
  /** Its name. */
  readonly upstream: string;
  readonly call: SocketCall;
}

/** Opens the upstream's side of a WebSocket on the endpoint that a slot is held on. */
export class WebSocketDialler {
  constructor(
    private readonly table: RoutingTable,
    private readonly credentials: UpstreamCredentials,
    private readonly clock: Clock,
  ) {}

  /**
   * An endpoint that refuses the connection is passed over while the upstream has another one. Rejects with the
   * problem of the last try, or with the client's reason if it leaves. `to`: the upstream and what to ask it for.
   */
  async dial(slot: Slot, to: SocketDestination, client: Departing, record: RequestRecord): Promise<DialledSocket> {
    for (;;) {
      record.sentTo(slot.endpoint?.id, this.clock.now());
      try {
        const dialled = await dialWebSocket(this.#callFor(slot, to), client.signal, this.clock);
        record.upstreamStatus = 101;
        return dialled;
      } catch (error) {
        record.upstreamEndedAt = this.clock.now();
        const { problem, outcome } = client.signal.aborted ? leftWith(error) : upstreamFailure(error, false);
        record.upstreamOutcome = outcome;
        if (outcome !== 'refused') throw problem;
        record.asksForPlace(record.upstreamEndedAt);
        if (await slot.moveOn(client)) {
          record.waited(slot.waitedMs);
          continue;
        }
        record.phase = 'waiting';
        throw problem;
      }
    }
  }

  #callFor({ endpoint }: Slot, { upstream, call }: SocketDestination): UpgradeCall {
    const { origin, host } = new URL(this.table.upstream(upstream).url);
    const authorization = this.credentials.authorization(upstream);
    return {
      ...call,
      origin: endpoint?.origin ?? origin,
      authority: endpoint?.authority ?? host,
      ...(authorization !== undefined && { authorization }),
    };
  }
}

const leftWith = (reason: unknown): Pick<UpstreamFailure, 'outcome'> & { readonly problem: Error } => ({
  problem: reason as Error,
  outcome: 'cancelled',
});
