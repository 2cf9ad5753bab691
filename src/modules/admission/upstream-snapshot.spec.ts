import { poolSaturation } from './upstream-snapshot.js';

const endpoint = (saturation: number, down = false) => ({ saturation, down });

describe('how full a pool is', () => {
  it.each([
    ['as the endpoint that is least full', [endpoint(0.9), endpoint(0.5)], 0.5],
    ['not as one that is down: it has no room to offer', [endpoint(0.9), endpoint(0, true)], 0.9],
    ['as all of them where all are down', [endpoint(0.9, true), endpoint(0.5, true)], 0.5],
    ['not at all without an endpoint', [], 0],
  ])('is %s', (_, endpoints, saturation) => {
    expect(poolSaturation(endpoints)).toBe(saturation);
  });
});
