import type { Held } from './endpoint-choice.js';
import type { TestName } from './pool-types.js';
import type { Waiter } from './waiter.js';

const heldByThis = (heldBy: TestName): Held => ({ endpoint: undefined, heldBy, gaugesAlone: false });

/** What holds a request back besides the tests of an endpoint. */
export const AT_LIMIT = heldByThis('limit');
export const YIELDS = heldByThis('yield');
export const NOT_CONFIRMED = heldByThis('claim');

/** How often a head was held back by each test. */
export class HoldUps {
  readonly byTest = new Map<TestName, number>();

  note(waiter: Waiter, { heldBy, gaugesAlone }: Held, now: number): void {
    if (waiter.heldBy !== heldBy) {
      waiter.heldBy = heldBy;
      this.byTest.set(heldBy, (this.byTest.get(heldBy) ?? 0) + 1);
    }
    waiter.gaugeHeldSince = gaugesAlone ? (waiter.gaugeHeldSince ?? now) : undefined;
  }
}
