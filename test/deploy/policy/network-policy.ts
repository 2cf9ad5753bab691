import { BlockList, isIP } from 'node:net';
import type { GatewayConfig } from '../../../src/modules/config/gateway.config.js';
import type { Cluster } from '../cluster.js';
import type { NetworkPeer, NetworkPolicy, NetworkRule } from '../kube-objects.js';
import { selects } from './labels.js';
import { portOf } from './ports.js';

const NAMESPACE = 'kubernetes.io/metadata.name';
/** Any public address stands for a name that only DNS knows. */
const SOME_PUBLIC_ADDRESS = '1.1.1.1';
const SOME_PRIVATE_ADDRESSES = ['10.0.0.1', '172.16.0.1', '192.168.0.1', '169.254.169.254'];
/** What a gateway calls besides that which its configuration names. */
const INFRASTRUCTURE = ['kube-system', 'monitoring', 'ingress-nginx'];

/** Where a URL of the configuration leads: to a Service of a namespace, or out of the cluster. */
interface Destination {
  readonly what: string;
  readonly host: string;
  readonly port: number;
}

/** Everything that the configuration names can be called. */
export function callsAreAllowed(cluster: Cluster, config: GatewayConfig): string[] {
  const policy = cluster.one('NetworkPolicy');
  return destinationsOf(cluster, config)
    .filter((destination) => !policy.spec.egress?.some((rule) => lets(policy, rule, destination)))
    .map(({ what, host, port }) => `the NetworkPolicy does not let the gateway call ${what} at ${host}:${port}`);
}

/** And nothing else can. */
export function otherCallsAreNot(cluster: Cluster, config: GatewayConfig): string[] {
  const policy = cluster.one('NetworkPolicy');
  const { egress = [], policyTypes = [], podSelector } = policy.spec;
  const used = new Set([
    ...INFRASTRUCTURE,
    ...destinationsOf(cluster, config).flatMap(({ host }) => namespaceOf(host, policy) ?? []),
  ]);
  return [
    ...['Ingress', 'Egress'].filter((type) => !policyTypes.includes(type)).map((type) => `${type} is not restricted`),
    ...(selects(podSelector, cluster.deployment) ? [] : ['the NetworkPolicy selects other pods']),
    ...egress.filter(isOpen).map(() => 'an egress rule lets the gateway call anything, or any port'),
    ...egress
      .flatMap(({ to = [] }) => to)
      .flatMap((peer) => (peer.ipBlock === undefined ? (allowedNamespace(peer, policy) ?? '(any)') : []))
      .filter((namespace) => !used.has(namespace))
      .map((namespace) => `the NetworkPolicy lets the gateway call the namespace ${namespace}, which nothing needs`),
    ...egress
      .flatMap(({ to = [] }) => to)
      .flatMap((peer) => SOME_PRIVATE_ADDRESSES.filter((address) => letsAddress(peer, address)))
      .map((address) => `the NetworkPolicy lets the gateway call private addresses such as ${address}`),
  ];
}

/** Traffic comes from ingress-nginx; the management port is for Prometheus and the other gateways. */
export function callersAreKnown(cluster: Cluster, { server }: GatewayConfig): string[] {
  const policy = cluster.one('NetworkPolicy');
  const known: Readonly<Record<number, readonly string[]>> = {
    [portOf(server.listen)]: ['ingress-nginx'],
    [portOf(server.management)]: ['monitoring', policy.metadata.namespace ?? ''],
  };
  const rules = policy.spec.ingress ?? [];
  const stray = rules.flatMap(({ from = [], ports = [] }) =>
    ports.flatMap(({ port }) =>
      from
        .filter((peer) => !known[Number(port)]?.includes(allowedNamespace(peer, policy) ?? ''))
        .map((peer) => `${JSON.stringify(peer)} may call port ${port ?? 'any'}`),
    ),
  );
  const missing = Object.entries(known).flatMap(([port, namespaces]) =>
    namespaces
      .filter((namespace) => !rules.some((rule) => letsIn(policy, rule, namespace, Number(port))))
      .map((namespace) => `${namespace} may not call port ${port}`),
  );
  return [...stray, ...missing, ...rules.filter(isOpen).map(() => 'an ingress rule lets anybody in')];
}

/** Where OpenTelemetry's exporter sends to where nobody says. */
const OTLP_DEFAULT = 'http://localhost:4318';

/** undefined: nobody is sent any traces, nor will be by switching them on alone. */
function collectorOf({ env }: Cluster, { telemetry }: GatewayConfig): string | undefined {
  const said = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  return said ?? (telemetry.tracing ? OTLP_DEFAULT : undefined);
}

function destinationsOf(cluster: Cluster, config: GatewayConfig): Destination[] {
  const { upstreams, auth, admission, budgets } = config;
  const stores = { 'admission.store': admission.store, 'budgets.store': budgets.store };
  const collector = collectorOf(cluster, config);
  return [
    { what: 'DNS', host: 'kube-dns.kube-system', port: 53 },
    ...upstreams.map(({ name, url }) => destination(`the upstream ${name}`, url)),
    ...auth.issuers.map(({ jwksUri }) => destination('the issuer', jwksUri)),
    destination('its peers', `http://${admission.peers}`),
    ...Object.entries(stores).flatMap(([what, url]) => (url.startsWith('redis:') ? [destination(what, url)] : [])),
    ...(collector === undefined ? [] : [destination('the collector', collector)]),
  ];
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443, 'redis:': 6379 };

function destination(what: string, text: string): Destination {
  const { hostname, port, protocol } = new URL(text);
  return { what, host: hostname, port: port === '' ? (DEFAULT_PORTS[protocol] ?? 0) : Number(port) };
}

const lets = (policy: NetworkPolicy, { to = [], ports = [] }: NetworkRule, { host, port }: Destination): boolean =>
  ports.some((one) => one.port === port) && to.some((peer) => isAt(policy, peer, host));

function isAt(policy: NetworkPolicy, peer: NetworkPeer, host: string): boolean {
  const namespace = namespaceOf(host, policy);
  if (namespace === undefined) return letsAddress(peer, isIP(host) === 0 ? SOME_PUBLIC_ADDRESS : host);
  return allowedNamespace(peer, policy) === namespace && isService(peer, host.split('.')[0] ?? '');
}

/** Labels of pods are not known here; by custom one of them is the name that their Service begins with. */
function isService({ podSelector }: NetworkPeer, service: string): boolean {
  const values = Object.values(podSelector?.matchLabels ?? {});
  return values.length === 0 || values.some((value) => service.startsWith(value));
}

/** `name`, `name.namespace` and `name.namespace.svc…` are Services; undefined: a name or address outside. */
function namespaceOf(host: string, { metadata }: NetworkPolicy): string | undefined {
  const [, namespace, svc] = host.split('.');
  if (isIP(host) !== 0 || (svc !== undefined && svc !== 'svc')) return undefined;
  return namespace ?? metadata.namespace;
}

/** The one namespace whose pods a peer may be; undefined: any, or none. */
function allowedNamespace({ namespaceSelector, podSelector }: NetworkPeer, { metadata }: NetworkPolicy) {
  if (namespaceSelector === undefined) return podSelector === undefined ? undefined : metadata.namespace;
  return namespaceSelector.matchLabels?.[NAMESPACE];
}

function letsAddress({ ipBlock }: NetworkPeer, address: string): boolean {
  if (ipBlock === undefined) return false;
  return inside(address, [ipBlock.cidr]) && !inside(address, ipBlock.except ?? []);
}

function inside(address: string, networks: readonly string[]): boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [start = '', bits] = network.split('/');
    list.addSubnet(start, Number(bits), isIP(start) === 6 ? 'ipv6' : 'ipv4');
  }
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

const letsIn = (policy: NetworkPolicy, { from = [], ports = [] }: NetworkRule, namespace: string, port: number) =>
  ports.some((one) => one.port === port) && from.some((peer) => allowedNamespace(peer, policy) === namespace);

/** A rule without peers or ports means all of them. */
const isOpen = ({ from, to, ports = [] }: NetworkRule): boolean =>
  (from ?? to ?? []).length === 0 || ports.length === 0 || ports.some(({ port }) => port === undefined);
