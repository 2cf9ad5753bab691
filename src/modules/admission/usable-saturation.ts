import type { EndpointSnapshot } from './upstream-snapshot.js';

/** Of the endpoint that is least full; one that is down has no room to offer. undefined: all are, or there is none. */
export function usableSaturation(
  endpoints: readonly Pick<EndpointSnapshot, 'down' | 'saturation'>[],
): number | undefined {
  const usable = endpoints.filter(({ down }) => !down);
  return usable.length === 0 ? undefined : Math.min(...usable.map((one) => one.saturation));
}
