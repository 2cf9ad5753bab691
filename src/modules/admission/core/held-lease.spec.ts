import { FakeClock } from '../../../../test/support/fake-clock.js';
import { Pool } from './pool.js';
import type { Lease, PoolPolicy } from './pool-types.js';
import { virtualCost } from './virtual-cost.js';

const policy: PoolPolicy = {
  name: 'reasoning',
  bands: [{ name: 'gold', ceiling: 1, capacity: 100, ttlMs: 60_000 }],
  defaultBand: 0,
  limit: 8,
  slotsPerEndpoint: 4,
  retryAfterMs: 5000,
  strictReserve: false,
  generates: true,
  gauges: undefined,
};
const ENDPOINT = '10.0.0.1:80';
const [PROMPT, OUTPUT] = [8000, 50];

/** A request that runs, and what its tenant is told to have had. */
class Running {
  readonly #clock = new FakeClock();
  readonly #pool = new Pool(policy, this.#clock, () => 0.5);
  readonly lease: Lease;

  constructor(endpoints = [ENDPOINT]) {
    this.#pool.setEndpoints(endpoints);
    let granted: Lease | undefined;
    const request = { tenant: 'a', band: 0, places: 1, cachedTokens: 0, stretchable: true };
    this.#pool.enqueue(
      { ...request, promptTokens: PROMPT, outputTokens: OUTPUT },
      { granted: (lease) => (granted = lease), refused: () => undefined },
    );
    if (granted === undefined) throw new Error('it was not granted');
    this.lease = granted;
  }

  /** Lets the engine compute as much of its prompt, by the estimate. */
  prefill(share: number): void {
    const [entry] = this.#pool.endpoints.get(ENDPOINT)?.leases ?? [];
    this.#clock.advance((entry?.estimateMs ?? NaN) * share);
  }

  /** Tokens that the tenant has received. */
  get served(): readonly number[] {
    return (this.#pool.received[0]?.entries() ?? []).map(([, tokens]) => tokens);
  }

  /** Its place in the order, in token equivalents. */
  get counter(): number {
    return this.#pool.queues[0]?.flowOf('a').counter ?? NaN;
  }
}

describe('the service that a lease was for', () => {
  it('is what the engine counted, prompt and output, and not what that costs others', () => {
    const running = new Running();
    running.lease.settle(7900, 120);
    running.lease.release();
    running.lease.release();
    expect(running.served).toEqual([8020]);
    expect(running.counter).toBe(virtualCost(7900, 120));
  });

  it('is its prompt where nobody counted and its output had begun', () => {
    const running = new Running();
    running.lease.firstToken();
    running.lease.release();
    expect(running.served).toEqual([PROMPT]);
    expect(running.counter).toBe(virtualCost(PROMPT, OUTPUT));
  });

  it.each([
    [0, 0],
    [0.25, PROMPT / 4],
    [3, PROMPT],
  ])(
    'is the part of its prompt that was computed where it ended before its output: after %d of it',
    (share, tokens) => {
      const running = new Running();
      running.prefill(share);
      running.lease.release();
      expect(running.served).toEqual([tokens]);
    },
  );

  it('is nothing where the endpoint refused it, though another one serve it then', () => {
    const running = new Running([ENDPOINT, '10.0.0.2:80']);
    let again: Lease | undefined;
    running.lease.refused({ granted: (lease) => (again = lease), refused: () => undefined });
    expect(running.served).toEqual([0]);
    again?.settle(10, 2);
    again?.release();
    expect(running.served).toEqual([12]);
  });
});
