import type { GatewayConfig } from '../../../src/modules/config/gateway.config.js';
import type { Cluster } from '../cluster.js';
import type { Ingress, Service } from '../kube-objects.js';
import { within } from './labels.js';
import { portOf } from './ports.js';

const BYTES_OF: Readonly<Record<string, number>> = { '': 1, k: 1024, m: 1_048_576, g: 1_073_741_824 };
/** What nginx does where nothing is written. */
const NGINX_TIMEOUT_SECONDS = 60;
const NGINX_KEEPALIVE_SECONDS = 60;
const NGINX_BODY_BYTES = 1_048_576;

const nginx = ({ metadata }: Ingress, name: string): string | undefined =>
  metadata.annotations?.[`nginx.ingress.kubernetes.io/${name}`];

/** nginx neither keeps tokens back nor tries a call again that has been sent. */
export function edgePassesStreams(cluster: Cluster): string[] {
  const ingress = cluster.one('Ingress');
  const again = (nginx(ingress, 'proxy-next-upstream') ?? 'error timeout').split(/\s+/u);
  const tooMuch = again.filter((word) => !['error', 'off'].includes(word));
  return [
    ...(nginx(ingress, 'proxy-buffering') === 'off' ? [] : ['nginx buffers answers: proxy-buffering is not off']),
    ...(tooMuch.length === 0 ? [] : [`nginx sends a call again on ${tooMuch.join(', ')}`]),
  ];
}

/** Every timeout that the gateway keeps must run out there, not in nginx. */
export function edgeWaitsLongEnough(cluster: Cluster, config: GatewayConfig): string[] {
  const ingress = cluster.one('Ingress');
  const timeouts = [...Object.values(config.operations), ...config.proxies].map((route) => route.timeouts);
  const readMs = Math.max(...timeouts.map((one) => one.readMs));
  const writeMs = Math.max(...timeouts.map((one) => one.writeMs));
  const waitMs = Math.max(...config.admission.bands.map(({ ttlMs }) => ttlMs));
  const needs = { 'proxy-read-timeout': (waitMs + readMs) / 1000, 'proxy-send-timeout': writeMs / 1000 };
  return Object.entries(needs).flatMap(([name, needsSeconds]) => {
    const seconds = Number(nginx(ingress, name) ?? NGINX_TIMEOUT_SECONDS);
    return seconds >= needsSeconds ? [] : [`${name} is ${seconds} s, and the gateway may take ${needsSeconds} s`];
  });
}

/** nginx lets go of an idle connection before the gateway does, or it sends a call into one that has just been closed. */
export function edgeLetsGoFirst(_cluster: Cluster, { server }: GatewayConfig): string[] {
  return server.keepAliveTimeoutMs > NGINX_KEEPALIVE_SECONDS * 1000
    ? []
    : [`keepAliveTimeout is not above the ${NGINX_KEEPALIVE_SECONDS} s that nginx keeps idle connections`];
}

/** A body that is too large gets the gateway's own answer. */
export function edgeTakesBodies(cluster: Cluster, config: GatewayConfig): string[] {
  const routes = [...Object.values(config.operations), ...config.proxies];
  const largest = Math.max(...routes.map(({ maxBodyBytes }) => maxBodyBytes));
  const text = nginx(cluster.one('Ingress'), 'proxy-body-size');
  const takes = text === undefined ? NGINX_BODY_BYTES : bytesOf(text);
  return takes === 0 || takes >= largest ? [] : [`nginx refuses bodies over ${takes} bytes, and maxBody is ${largest}`];
}

function bytesOf(text: string): number {
  const [, digits, unit = ''] = /^(\d+)([kmg]?)$/iu.exec(text) ?? [];
  return Number(digits) * (BYTES_OF[unit.toLowerCase()] ?? Number.NaN);
}

/** The way in ends at the public listener, and nowhere else. */
export function edgeReachesOnlyTraffic(cluster: Cluster, { server }: GatewayConfig): string[] {
  const { ingressClassName, rules } = cluster.one('Ingress').spec;
  const backends = rules.flatMap(({ http }) => http.paths.map(({ backend }) => backend.service));
  return [
    ...(ingressClassName === 'nginx' ? [] : [`the ingress class is ${ingressClassName ?? 'missing'}, not nginx`]),
    ...backends.flatMap(({ name, port }) => {
      const service = cluster.one('Service', name);
      const reached = containerPort(cluster, service, port.name ?? port.number);
      return reached === portOf(server.listen)
        ? []
        : [`the Ingress reaches port ${reached ?? 'none'} by ${name}, not the public listener`];
    }),
  ];
}

/** The Services find the pods; only the headless one shows the management listener, under the name that peers look up. */
export function servicesMatch(cluster: Cluster, { server, admission }: GatewayConfig): string[] {
  const { deployment } = cluster;
  const headless = cluster.all('Service').filter(({ spec }) => spec.clusterIP === 'None');
  const management = portOf(server.management);
  return [
    ...cluster
      .all('Service')
      .filter(({ spec }) => !within(spec.selector, deployment.spec.template.metadata.labels))
      .map(({ metadata }) => `the Service ${metadata.name} selects other pods`),
    ...cluster
      .all('Service')
      .filter((service) => service.spec.clusterIP !== 'None' && reachedBy(cluster, service).includes(management))
      .map(({ metadata }) => `the Service ${metadata.name} offers the management port`),
    ...headless.filter(({ spec }) => spec.publishNotReadyAddresses !== true).map(hidesDraining),
    ...(headless.some((service) => isPeers(cluster, service, admission.peers))
      ? []
      : [`no headless Service is ${admission.peers} (admission.peers)`]),
  ];
}

const hidesDraining = ({ metadata }: Service): string =>
  `the Service ${metadata.name} hides gateways that drain: publishNotReadyAddresses is not true`;

const isPeers = (cluster: Cluster, { metadata, spec }: Service, peers: string): boolean =>
  spec.ports.some(({ port }) => `${metadata.name}.${metadata.namespace ?? ''}:${port}` === peers) &&
  cluster.deployment.metadata.namespace === metadata.namespace;

const reachedBy = (cluster: Cluster, service: Service): (number | undefined)[] =>
  service.spec.ports.map(({ port }) => containerPort(cluster, service, port));

/** The port of the container that a port of a Service, by name or number, stands for. */
function containerPort({ container }: Cluster, { spec }: Service, asked: string | number | undefined) {
  const found = spec.ports.find(({ name, port }) => name === asked || port === asked);
  const target = found?.targetPort ?? found?.port;
  return typeof target === 'number' ? target : container.ports?.find(({ name }) => name === target)?.containerPort;
}
