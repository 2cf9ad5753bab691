import type { CanonicalRequest } from '../../common/canonical/canonical-request.js';
import type { Principal } from '../../common/principal.js';
import type { GatewayProblem } from '../../common/problem/gateway-problem.js';
import type { Slot, Departing } from '../admission/slot.js';
import type { SlotController, SlotRequest } from '../admission/slot-controller.js';
import type { Budgets } from '../budgets/budgets.js';
import { mostTokens } from '../budgets/request-cost.js';
import type { Reservation } from '../budgets/reservation.js';

/** The way to an upstream: first what the caller may spend, then a slot. There is no slot without a reservation. */
export class Admittance {
  constructor(
    private readonly budgets: Budgets,
    private readonly slots: SlotController,
  ) {}

  /** How many tokens a prompt is likely to have, by what the engines have counted of others. */
  promptTokens(request: CanonicalRequest, caller: Principal, contextLength: number): number {
    return this.slots.promptTokens(request, caller, contextLength);
  }

  /** Sets aside the most that a request can come to. Throws or rejects as `Budgets.reserve` does. */
  reserve(caller: Principal, request: CanonicalRequest, contextLength: number): Reservation | Promise<Reservation> {
    const promptTokens = this.promptTokens(request, caller, contextLength);
    return this.budgets.reserve(caller, mostTokens(request, promptTokens, contextLength));
  }

  /** Sets aside one request that takes no tokens. */
  reserveOne(caller: Principal): Reservation | Promise<Reservation> {
    return this.budgets.reserve(caller, 0);
  }

  /** As `SlotController.turnsSomeAway`. */
  get turnsSomeAway(): boolean {
    return this.slots.turnsSomeAway;
  }

  /** As `SlotController.turnsAway`. */
  turnsAway(upstream: string, caller: Principal): GatewayProblem | undefined {
    return this.slots.turnsAway(upstream, caller);
  }

  /** Throws or rejects as `SlotController.acquire` does. */
  acquire(asked: SlotRequest, client: Departing): Slot | Promise<Slot> {
    return this.slots.acquire(asked, client);
  }
}
