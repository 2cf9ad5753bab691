import type { GatewayConfig } from '../../../src/modules/config/gateway.config.js';
import type { Cluster } from '../cluster.js';
import { within } from './labels.js';
import { portOf } from './ports.js';

/** Prometheus finds every gateway's metrics. */
export function metricsAreScraped(cluster: Cluster, { server }: GatewayConfig): string[] {
  const { selector, endpoints } = cluster.one('ServiceMonitor').spec;
  const services = cluster.all('Service').filter(({ metadata }) => within(selector.matchLabels, metadata.labels));
  const ports = new Map(services.flatMap(({ spec }) => spec.ports.map(({ name, port }) => [name, port] as const)));
  return [
    ...(services.length === 1 ? [] : [`the ServiceMonitor selects ${services.length} Services, not one`]),
    ...endpoints
      .filter(({ port, path }) => ports.get(port) !== portOf(server.management) || path !== '/metrics')
      .map(
        ({ port, path }) => `the ServiceMonitor reads ${port ?? 'no port'}${path ?? ''}, not the management's /metrics`,
      ),
  ];
}

/** Somebody is told, and in words. */
export function alertsSaySomething(cluster: Cluster): string[] {
  const rules = cluster.one('PrometheusRule').spec.groups.flatMap((group) => group.rules);
  const alerts = rules.filter(({ alert }) => alert !== undefined);
  return [
    ...(alerts.length === 0 ? ['there is no alert'] : []),
    ...alerts
      .filter(({ annotations }) => annotations?.['summary'] === undefined)
      .map(({ alert }) => `the alert ${alert ?? ''} has no summary`),
  ];
}

/** Argo applies what git holds, into the namespace that everything here is in. */
export function argoApplies(cluster: Cluster): string[] {
  const { destination, syncPolicy, source } = cluster.one('Application').spec;
  const { namespace = '' } = cluster.deployment.metadata;
  const { automated } = syncPolicy ?? {};
  return [
    ...(destination.namespace === namespace
      ? []
      : [`Argo applies to ${destination.namespace ?? 'no namespace'}, and the objects are in ${namespace}`]),
    ...(automated?.selfHeal === true && automated.prune === true ? [] : ['Argo neither heals nor prunes by itself']),
    ...(source.path?.endsWith('k8s') === true ? [] : [`Argo reads ${source.path ?? 'nothing'}, not a k8s folder`]),
  ];
}
