import { FakeClock } from '../../../test/support/fake-clock.js';
import type { Endpoint, EndpointState } from '../engine-observer/endpoint.js';
import { UpstreamHealth } from './upstream-health.js';

const endpoint = (state: EndpointState, takenAtMs?: number): Endpoint => ({
  id: 'a:1',
  upstream: 'engine',
  origin: 'http://a:1',
  authority: 'a:1',
  state,
  snapshot: takenAtMs === undefined ? undefined : { bootId: 'x', takenAtMs },
  degraded: false,
  faults: {} as Endpoint['faults'],
  staleCount: 0,
});

describe('UpstreamHealth', () => {
  const clock = new FakeClock();
  const world = (...endpoints: Endpoint[]) => new UpstreamHealth(['engine'], () => endpoints, clock);

  it('does not know what nobody has asked', () => {
    expect(world(endpoint('unobserved')).isUp('engine')).toBeUndefined();
    expect(world(endpoint('unknown')).isUp('engine')).toBeUndefined();
    expect(world().read()).toEqual([]);
  });

  it.each([
    ['ok', true],
    ['client_error', true],
    ['server_error', false],
    ['refused', false],
    ['timeout', false],
  ] as const)('believes the last request where nothing probes: %s', (outcome, up) => {
    const health = world(endpoint('unobserved'));
    health.note('engine', outcome);
    health.note('engine', 'cancelled');
    expect(health.isUp('engine')).toBe(up);
  });

  it('believes probes, and whatever came later', () => {
    expect(world(endpoint('healthy', 0)).read()).toMatchObject([{ labels: { upstream: 'engine' }, value: 1 }]);
    expect(world(endpoint('stale', 0)).isUp('engine')).toBe(false);
    const health = world(endpoint('healthy', clock.now() + 1));
    health.note('engine', 'reset');
    expect(health.isUp('engine')).toBe(true);
    clock.advance(2);
    health.note('engine', 'reset');
    expect(health.isUp('engine')).toBe(false);
  });

  it('says when it has learnt it, so that of several processes the last to learn is believed', () => {
    const atMs = (health: UpstreamHealth): number => health.read()[0]?.atMs ?? NaN;
    const asked = world(endpoint('unobserved'));
    asked.note('engine', 'reset');
    const [probedBefore, probedAfter] = [clock.now() - 5, clock.now() + 5].map((at) => world(endpoint('healthy', at)));
    if (probedBefore === undefined || probedAfter === undefined) throw new Error('two were made');
    expect(atMs(probedBefore)).toBeLessThan(atMs(asked));
    expect(atMs(asked)).toBeLessThan(atMs(probedAfter));
    expect(atMs(world(endpoint('stale')))).toBe(0);
  });

  it('one endpoint of several is enough', () => {
    expect(world(endpoint('stale', 0), endpoint('healthy', 0)).isUp('engine')).toBe(true);
  });

  it('a request that works speaks for an upstream whose page is broken, for a while', () => {
    const health = world(endpoint('stale'));
    health.note('engine', 'ok');
    expect(health.isUp('engine')).toBe(true);
    clock.advance(31_000);
    expect(health.isUp('engine')).toBe(false);
  });
});
