import { fileURLToPath } from 'node:url';
import { Cluster } from './cluster.js';
import type { Ingress, NetworkRule } from './kube-objects.js';
import { faultsOf, POLICIES, type PolicyName } from './policy/policies.js';

const FOLDER = fileURLToPath(new URL('../../k8s', import.meta.url));
const NGINX = 'nginx.ingress.kubernetes.io';

const rendered = Cluster.render(FOLDER);

it('renders what an operator would apply, and nothing of it offends a policy', () => {
  const kinds = rendered.objects.map(({ kind }) => kind);
  expect(kinds.sort()).toEqual([
    ...['Application', 'ConfigMap', 'Deployment', 'Ingress', 'NetworkPolicy', 'PodDisruptionBudget'],
    ...['PrometheusRule', 'Service', 'Service', 'ServiceMonitor'],
  ]);
  expect(faultsOf(rendered)).toEqual([]);
});

it('gives a changed configuration another name, so that it is rolled out', () => {
  const { name } = rendered.one('ConfigMap').metadata;
  expect(name).toMatch(/^api-gateway-config-\w{10}$/);
  expect(rendered.deployment.spec.template.spec.volumes).toEqual([{ name: 'config', configMap: { name } }]);
});

/** A fault of its kind: the policy that must see it, how it comes about, and what is said of it. */
type Fault = readonly [policy: PolicyName, what: string, spoil: (cluster: Cluster) => unknown, said: RegExp];

const pod = ({ deployment }: Cluster) => deployment.spec.template.spec;
const policySpec = (cluster: Cluster) => cluster.one('NetworkPolicy').spec;
const annotations = (cluster: Cluster): NonNullable<Ingress['metadata']['annotations']> =>
  (cluster.one('Ingress').metadata.annotations ??= {});

/** As somebody would edit config/gateway.yaml. */
function configure(cluster: Cluster, from: string, to: string): void {
  const { data = {} } = cluster.one('ConfigMap');
  const text = data['gateway.yaml'] ?? '';
  expect(text).toContain(from);
  data['gateway.yaml'] = text.replace(from, to);
}

function setEnv({ container }: Cluster, name: string, value: string): void {
  container.env = [...(container.env ?? []).filter((one) => one.name !== name), { name, value }];
}

function withoutEnv({ container }: Cluster, name: string): void {
  expect(container.env?.some((one) => one.name === name)).toBe(true);
  container.env = container.env?.filter((one) => one.name !== name) ?? [];
}

function withoutEgressTo(cluster: Cluster, namespace: string): void {
  const spec = policySpec(cluster);
  const named = (rule: NetworkRule): boolean => JSON.stringify(rule).includes(`"${namespace}"`);
  expect(spec.egress?.some(named)).toBe(true);
  spec.egress = spec.egress?.filter((rule) => !named(rule)) ?? [];
}

const FAULTS: readonly Fault[] = [
  ['graceFits', 'the default grace period', (c) => delete pod(c).terminationGracePeriodSeconds, /is 30, but .* 3610/],
  ['graceFits', 'a longer drain', (c) => configure(c, 'drainTimeout: 1h', 'drainTimeout: 2h'), /is 3640, but .* 7210/],
  ['graceFits', 'a longer delay', (c) => configure(c, '# drainDelay: 5s', 'drainDelay: 60s'), /is 3640, but .* 3665/],
  ['graceFits', 'a shell in preStop', (c) => (c.container.lifecycle = { preStop: { exec: {} } }), /no sleep/],
  ['replicasMatch', 'another count', (c) => (c.deployment.spec.replicas = 2), /replicas is 2, and server.replicas 3/],
  ['replicasMatch', 'another share', (c) => setEnv(c, 'GATEWAY_REPLICAS', '5'), /replicas is 3, and server.replicas 5/],
  ['rollsOverWithoutLoss', 'the default', (c) => delete c.deployment.spec.strategy, /maxUnavailable is missing/],
  [
    'rollsOverWithoutLoss',
    'one that goes first',
    (c) => (c.deployment.spec.strategy = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } }),
    /maxUnavailable is 1/,
  ],
  ['isConfined', 'root', (c) => (pod(c).securityContext = { seccompProfile: { type: 'RuntimeDefault' } }), /as root/],
  ['isConfined', 'no seccomp', (c) => delete pod(c).securityContext?.seccompProfile, /seccompProfile/],
  ['isConfined', 'a token', (c) => delete pod(c).automountServiceAccountToken, /service account token/],
  ['isConfined', 'no context', (c) => delete c.container.securityContext, /write to its root file system/],
  [
    'isConfined',
    'a capability',
    (c) =>
      (c.container.securityContext = {
        ...c.container.securityContext,
        capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
      }),
    /keeps capabilities/,
  ],
  [
    'isConfined',
    'privileges',
    (c) => (c.container.securityContext = { ...c.container.securityContext, allowPrivilegeEscalation: true }),
    /gain privileges/,
  ],
  [
    'isConfined',
    'a second container',
    (c) => pod(c).containers.push({ ...c.container, name: 'side', securityContext: {} }),
    /container side/,
  ],
  ['imagesAreCommits', ':latest', (c) => (c.container.image = 'ghcr.io/riotpiaole/api-gateway:latest'), /:latest/],
  ['imagesAreCommits', 'no tag', (c) => (c.container.image = 'localhost:5000/api-gateway'), /digits of a commit/],
  ['imagesAreCommits', 'a version', (c) => (c.container.image = 'api-gateway:v1.2.3'), /digits of a commit/],
  [
    'hasResources',
    'no limit',
    (c) => (c.container.resources = { ...c.container.resources, limits: {} }),
    /limits.memory/,
  ],
  ['isSpread', 'no spread', (c) => delete pod(c).topologySpreadConstraints, /not spread/],
  ['probesAsk', 'no probe', (c) => delete c.container.livenessProbe, /livenessProbe is missing/],
  [
    'probesAsk',
    'a path of old',
    (c) => (c.container.readinessProbe = { httpGet: { path: '/status', port: 'http' } }),
    /asks \/status/,
  ],
  [
    'probesAsk',
    'the other port',
    (c) => (c.container.startupProbe = { httpGet: { path: '/healthz', port: 'management' } }),
    /asks port 9090/,
  ],
  ['portsMatch', 'another listener', (c) => setEnv(c, 'LISTEN', '0.0.0.0:3000'), /http is 8080, and .* 3000/],
  ['disruptionIsBounded', 'all at once', (c) => (c.one('PodDisruptionBudget').spec.maxUnavailable = 3), /3 of 3/],
  ['disruptionIsBounded', 'never', (c) => (c.one('PodDisruptionBudget').spec.maxUnavailable = 0), /0 of 3/],
  ['edgePassesStreams', 'a buffer', (c) => delete annotations(c)[`${NGINX}/proxy-buffering`], /buffers/],
  [
    'edgePassesStreams',
    'calls twice',
    (c) => (annotations(c)[`${NGINX}/proxy-next-upstream`] = 'error timeout non_idempotent'),
    /timeout, non_idempotent/,
  ],
  [
    'edgeWaitsLongEnough',
    'the default',
    (c) => delete annotations(c)[`${NGINX}/proxy-read-timeout`],
    /is 60 s, .* 4200 s/,
  ],
  ['edgeWaitsLongEnough', 'longer reads', (c) => configure(c, 'read: 1h', 'read: 3h'), /proxy-read-timeout is 4260 s/],
  [
    'edgeWaitsLongEnough',
    'short writes',
    (c) => (annotations(c)[`${NGINX}/proxy-send-timeout`] = '60'),
    /proxy-send-timeout is 60 s/,
  ],
  [
    'edgeLetsGoFirst',
    'a short patience',
    (c) => configure(c, 'keepAliveTimeout: 75s', 'keepAliveTimeout: 30s'),
    /not above the 60 s/,
  ],
  ['edgeTakesBodies', 'the default', (c) => delete annotations(c)[`${NGINX}/proxy-body-size`], /over 1048576 bytes/],
  ['edgeTakesBodies', 'a larger cap', (c) => configure(c, 'maxBody: 4MiB', 'maxBody: 16MiB'), /maxBody is 16777216/],
  [
    'edgeReachesOnlyTraffic',
    'the management port',
    (c) =>
      c.one('Ingress').spec.rules[0]?.http.paths.push({
        backend: { service: { name: 'api-gateway-headless', port: { name: 'management' } } },
      }),
    /reaches port 9090/,
  ],
  [
    'servicesMatch',
    'management in the Service',
    (c) => c.one('Service', 'api-gateway').spec.ports.push({ name: 'm', port: 9090, targetPort: 'management' }),
    /offers the management port/,
  ],
  [
    'servicesMatch',
    'other pods',
    (c) => (c.one('Service', 'api-gateway').spec.selector = { app: 'gateway' }),
    /selects other pods/,
  ],
  [
    'servicesMatch',
    'peers by another name',
    (c) => configure(c, 'api-gateway-headless.api:9090', 'gateways.api:9090'),
    /no headless Service is gateways/,
  ],
  [
    'servicesMatch',
    'hidden drains',
    (c) => delete c.one('Service', 'api-gateway-headless').spec.publishNotReadyAddresses,
    /hides gateways/,
  ],
  [
    'callsAreAllowed',
    'an upstream elsewhere',
    (c) => configure(c, 'atlas.riotpiao-backend:8080', 'atlas.elsewhere:8080'),
    /the upstream atlas at atlas\.elsewhere:8080/,
  ],
  [
    'callsAreAllowed',
    'an upstream on another port',
    (c) => configure(c, 'console.agent-pod:8080', 'console.agent-pod:9000'),
    /the upstream console at console\.agent-pod:9000/,
  ],
  [
    'callsAreAllowed',
    'an upstream outside',
    (c) => configure(c, 'http://atlas.riotpiao-backend:8080', 'http://203.0.113.7:8080'),
    /the upstream atlas at 203/,
  ],
  ['callsAreAllowed', 'no DNS', (c) => withoutEgressTo(c, 'kube-system'), /call DNS/],
  ['callsAreAllowed', 'no issuer', (c) => withoutEgressTo(c, '0.0.0.0/0'), /call the issuer at authentik/],
  [
    'callsAreAllowed',
    'another Redis',
    (c) => setEnv(c, 'BUDGET_STORE', 'redis://kmsvc-redis-master.sqs:6379/0'),
    /call budgets\.store at kmsvc/,
  ],
  [
    'callsAreAllowed',
    'another collector',
    (c) => setEnv(c, 'OTEL_EXPORTER_OTLP_ENDPOINT', 'http://tempo.tracing:4318'),
    /call the collector at tempo/,
  ],
  [
    'callsAreAllowed',
    'another collector of traces alone',
    (c) => setEnv(c, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'http://tempo.tracing:4318/v1/traces'),
    /call the collector at tempo/,
  ],
  [
    'callsAreAllowed',
    'traces to nowhere',
    (c) => {
      setEnv(c, 'TRACING_ENABLED', 'true');
      withoutEnv(c, 'OTEL_EXPORTER_OTLP_ENDPOINT');
    },
    /call the collector at localhost:4318/,
  ],
  ['callsAreAllowed', 'no way to the collector', (c) => withoutEgressTo(c, 'opentelemetry-collector'), /the collector/],
  ['otherCallsAreNot', 'anything', (c) => policySpec(c).egress?.push({}), /call anything/],
  [
    'otherCallsAreNot',
    'a namespace',
    (c) =>
      policySpec(c).egress?.push({
        to: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'sqs' } } }],
        ports: [{ port: 6379 }],
      }),
    /namespace sqs/,
  ],
  [
    'otherCallsAreNot',
    'every namespace',
    (c) => policySpec(c).egress?.push({ to: [{ namespaceSelector: {} }], ports: [{ port: 80 }] }),
    /namespace \(any\)/,
  ],
  [
    'otherCallsAreNot',
    'private addresses',
    (c) => policySpec(c).egress?.push({ to: [{ ipBlock: { cidr: '0.0.0.0/0' } }], ports: [{ port: 443 }] }),
    /such as 169\.254\.169\.254/,
  ],
  ['otherCallsAreNot', 'no egress rule', (c) => (policySpec(c).policyTypes = ['Ingress']), /Egress is not restricted/],
  [
    'callersAreKnown',
    'metrics for the edge',
    (c) =>
      policySpec(c).ingress?.push({
        from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress-nginx' } } }],
        ports: [{ port: 9090 }],
      }),
    /may call port 9090/,
  ],
  ['callersAreKnown', 'anybody', (c) => policySpec(c).ingress?.push({ ports: [{ port: 8080 }] }), /lets anybody in/],
  ['callersAreKnown', 'nobody', (c) => (policySpec(c).ingress = []), /ingress-nginx may not call port 8080/],
  [
    'metricsAreScraped',
    'the public port',
    (c) => (c.one('ServiceMonitor').spec.endpoints = [{ port: 'http', path: '/metrics' }]),
    /reads http\/metrics/,
  ],
  [
    'metricsAreScraped',
    'no Service',
    (c) => (c.one('ServiceMonitor').spec.selector = { matchLabels: { app: 'x' } }),
    /selects 0 Services/,
  ],
  ['alertsSaySomething', 'no alert', (c) => (c.one('PrometheusRule').spec.groups = []), /no alert/],
  ['argoApplies', 'by hand', (c) => delete c.one('Application').spec.syncPolicy, /neither heals nor prunes/],
  [
    'argoApplies',
    'elsewhere',
    (c) => (c.one('Application').spec.destination.namespace = 'default'),
    /applies to default/,
  ],
];

/** Each in one place: most faults are seen by their own policy alone. */
describe('a deployment with a fault in it', () => {
  it.each(FAULTS)('offends %s: %s', (policy, _what, spoil, said) => {
    const cluster = rendered.copy();
    spoil(cluster);
    const faults = faultsOf(cluster);
    expect(faults).toContainEqual([policy, expect.stringMatching(said)]);
  });

  it('is there for every policy', () => {
    expect([...new Set(FAULTS.map(([policy]) => policy))].sort()).toEqual(Object.keys(POLICIES).sort());
  });
});
