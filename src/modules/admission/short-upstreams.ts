import type { OperatorLog } from '../../common/operator-log.js';
import type { EngineView } from './slot-controller.js';
import type { UpstreamPolicy } from './pool-policy.js';

/** Warns where the endpoints that were found cannot hold as many requests as the upstream's limit allows. */
export function watchShortUpstreams(upstreams: readonly UpstreamPolicy[], engines: EngineView, log: OperatorLog): void {
  const check = ({ name, slots }: UpstreamPolicy): void => {
    const endpoints = engines.endpoints(name).length;
    if (slots.limit <= endpoints * slots.perEndpoint) return;
    const fields = { upstream: name, limit: slots.limit, endpoints, per_endpoint: slots.perEndpoint };
    log.warn(fields, 'slots.limit is more than the endpoints found can hold');
  };
  upstreams.forEach(check);
  engines.onEndpoints((changed) => upstreams.filter(({ name }) => name === changed).forEach(check));
}
