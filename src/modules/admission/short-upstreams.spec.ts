import type { Endpoint } from '../engine-observer/endpoint.js';
import { watchShortUpstreams } from './short-upstreams.js';

const upstream = { name: 'reasoning', engine: 'vllm', slots: { limit: 7, perEndpoint: 4 } };

function world(found: number) {
  const warnings: object[] = [];
  let tell: (upstream: string) => void = () => undefined;
  let endpoints = found;
  const engines = {
    endpoints: () => Array.from({ length: endpoints }, () => ({}) as Endpoint),
    onEndpoints: (listener: (upstream: string) => void) => {
      tell = listener;
    },
    onSnapshot: () => undefined,
  };
  const ignore = (): void => undefined;
  watchShortUpstreams([upstream], engines, {
    warn: (fields) => void warnings.push(fields),
    info: ignore,
    error: ignore,
  });
  return {
    warnings,
    become: (count: number) => {
      endpoints = count;
      tell('reasoning');
    },
  };
}

describe('watchShortUpstreams', () => {
  it('warns where a limit is more than the endpoints can hold, and when it becomes so', () => {
    expect(world(1).warnings).toEqual([{ upstream: 'reasoning', limit: 7, endpoints: 1, per_endpoint: 4 }]);
    const { warnings, become } = world(2);
    expect(warnings).toEqual([]);
    become(1);
    expect(warnings).toHaveLength(1);
  });
});
