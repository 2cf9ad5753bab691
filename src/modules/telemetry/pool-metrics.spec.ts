import { Registry } from 'prom-client';
import { findSample } from '../../../test/support/metric-samples.js';
import type { EndpointSnapshot, UpstreamSnapshot } from '../admission/upstream-snapshot.js';
import { showPools } from './pool-metrics.js';

const endpoint = (saturation: number, down: boolean): EndpointSnapshot => ({
  ...{ endpoint: `10.0.0.${String(saturation * 10)}:80`, places: 0, placesOfAll: 0, saturation, down },
  ...{ prefillBacklogMs: 0, kvReservedTokens: 0, slots: 4, prefillTokensPerSecond: 500 },
});

/** What is shown of a pool with these endpoints. */
async function saturationOf(...endpoints: EndpointSnapshot[]): Promise<number | undefined> {
  const saturation = Math.min(...endpoints.map((one) => one.saturation));
  const pool: UpstreamSnapshot = {
    ...{ upstream: 'engine', inUse: 0, requests: 0, limit: 8, generates: true, waiting: [], saturation },
    ...{ held: new Map(), endpoints, tenants: [] },
  };
  const registry = new Registry();
  showPools(registry, () => [pool]);
  return findSample(await registry.metrics(), 'pool_saturation', { upstream: 'engine' });
}

describe('pool_saturation', () => {
  it('is that of the endpoint that is least full', async () => {
    expect(await saturationOf(endpoint(0.9, false), endpoint(0.5, false))).toBe(0.5);
  });

  it('leaves out an endpoint that is down: it has no room to offer', async () => {
    expect(await saturationOf(endpoint(0.9, false), endpoint(0, true))).toBe(0.9);
  });

  it('is of all of them where all are down', async () => {
    expect(await saturationOf(endpoint(0.9, true), endpoint(0.5, true))).toBe(0.5);
  });
});
