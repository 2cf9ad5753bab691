import { BRONZE, GOLD, type GateMaker } from './gate.js';
import { bandsAlone, gaugesAlone, gaugesAndLedger, perGateway } from './plain-rules.js';
import { VirtualClock } from '../sim/core/virtual-clock.js';
import type { Lease } from '../modules/admission/core/pool-types.js';

function gateOf(maker: GateMaker) {
  const clock = new VirtualClock();
  const generates = true;
  const site = { clock, random: () => 0, gateway: 0, gateways: 1, endpoints: 1, slots: 4, generates };
  const gate = maker(site);
  gate.setEndpoints(['e0']);
  const granted: { readonly tenant: string; readonly lease: Lease }[] = [];
  const refused: string[] = [];
  const ask = (tenant = 't', band: number = GOLD) => {
    const request = { tenant, band, places: 1, promptTokens: 9, cachedTokens: 0, outputTokens: 9, stretchable: true };
    return gate.enqueue(request, {
      granted: (lease) => void granted.push({ tenant, lease }),
      refused: (refusal) => void refused.push(refusal),
    });
  };
  const read = (running: number, waiting = 0) => gate.read('e0', { running, waiting, takenAtMs: clock.now() });
  const askTimes = (count: number) => Array.from({ length: count }, () => ask());
  return { gate, clock, granted, refused, ask, askTimes, read };
}

describe('PlainGate', () => {
  it('grants what a semaphore has, in order of arrival', () => {
    const { gate, granted, ask, askTimes } = gateOf(perGateway);
    askTimes(4);
    ask('late');
    expect([granted.length, gate.inUse, gate.depth(0)]).toEqual([4, 4, 1]);
    granted[1]?.lease.release();
    granted[1]?.lease.release();
    expect([granted.at(-1)?.tenant, gate.inUse, gate.depth(0)]).toEqual(['late', 4, 0]);
  });

  it('refuses who has waited too long, and forgets who leaves', () => {
    const { gate, clock, refused, ask, askTimes } = gateOf(perGateway);
    askTimes(5);
    ask().cancel();
    clock.advance(120_000);
    expect([refused, gate.depth(0)]).toEqual([['queue-timeout'], 0]);
  });

  it('lets everyone in by a gauge that has not moved yet', () => {
    const { granted, askTimes, read } = gateOf(gaugesAlone());
    read(4);
    askTimes(20);
    expect(granted).toHaveLength(0);
    read(3);
    expect(granted).toHaveLength(20);
  });

  it('counts its own grants where it keeps a ledger, and gates on them without a gauge', () => {
    const { granted, askTimes, read } = gateOf(gaugesAndLedger);
    askTimes(6);
    expect(granted).toHaveLength(4);
    granted[0]?.lease.release();
    expect(granted).toHaveLength(5);
    read(9);
    granted[1]?.lease.release();
    expect(granted).toHaveLength(5);
  });

  it('keeps a band below its ceiling, and takes tenants in turn', () => {
    const { granted, ask } = gateOf(bandsAlone);
    for (const tenant of ['a', 'a', 'a', 'a', 'a', 'b']) ask(tenant, BRONZE);
    expect(granted.map(({ tenant }) => tenant)).toEqual(['a', 'a', 'a']);
    ask('g', GOLD);
    expect(granted.at(-1)?.tenant).toBe('g');
    granted[3]?.lease.release();
    granted[0]?.lease.release();
    granted[1]?.lease.release();
    expect(granted.slice(4).map(({ tenant }) => tenant)).toEqual(['a', 'b']);
  });
});
