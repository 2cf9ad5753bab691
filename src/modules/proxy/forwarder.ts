import type { CanonicalRequest } from '../../common/canonical/canonical-request.js';
import type { EngineCall } from '../../common/canonical/engine-call.js';
import type { TimeoutsConfig } from '../../common/config/timeouts.config.js';
import type { UpstreamConfig } from '../../common/config/upstreams.config.js';
import type { Rendering } from '../../common/rendering.js';
import type { Reservation } from '../budgets/reservation.js';
import type { Admittance } from './admittance.js';
import type { Exchange } from './exchange.js';
import type { Relay } from './relay.js';

/** A request that has been understood: where it goes, as what, and how its answer is to be told. */
export interface Outbound {
  readonly upstream: UpstreamConfig;
  readonly timeouts: TimeoutsConfig;
  /** undefined: the upstream is no engine, and the request takes one place and no tokens. */
  readonly request: CanonicalRequest | undefined;
  /** Tokens of prompt and answer together that the model holds. */
  readonly contextLength: number;
  readonly call: EngineCall;
  readonly rendering: Rendering;
}

/**
 * The way of every request that is passed on, whatever its dialect: budget, slot, engine. What is there at once is not
 * waited for: a promise for each step would cost a request more than the step.
 */
export class Forwarder {
  constructor(
    private readonly admittance: Admittance,
    private readonly relay: Relay,
  ) {}

  /**
   * Settles as `Relay.send`, with slot and reservation given back. Rejects with a GatewayProblem that has not been told
   * to the client yet, or with ClientGone.
   */
  async forward(outbound: Outbound, exchange: Exchange): Promise<void> {
    const { upstream, timeouts, request, contextLength, call, rendering } = outbound;
    const { caller } = exchange;
    const reserved = this.#reserve(outbound, exchange);
    const reservation = reserved instanceof Promise ? await reserved : reserved;
    // Not `using`: it is compiled to a list of what is held, made anew for each request.
    try {
      exchange.reserved(reservation);
      if (request?.stream === true) exchange.park(rendering);
      const asked = { upstream: upstream.name, caller, reservation, request, contextLength };
      const acquired = this.admittance.acquire(asked, exchange);
      const slot = acquired instanceof Promise ? await acquired : acquired;
      try {
        await this.relay.send(slot, { upstream, timeouts }, call, exchange, rendering);
      } finally {
        slot[Symbol.dispose]();
      }
    } finally {
      reservation[Symbol.dispose]();
    }
  }

  #reserve({ request, contextLength }: Outbound, { caller }: Exchange): Reservation | Promise<Reservation> {
    if (request === undefined) return this.admittance.reserveOne(caller);
    return this.admittance.reserve(caller, request, contextLength);
  }
}
