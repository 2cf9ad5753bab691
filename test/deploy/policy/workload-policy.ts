import type { GatewayConfig } from '../../../src/modules/config/gateway.config.js';
import type { Cluster } from '../cluster.js';
import type { Container } from '../kube-objects.js';
import { selects } from './labels.js';
import { portOf } from './ports.js';

/** `drainDelay` where the configuration does not say one. */
const DEFAULT_DRAIN_DELAY_MS = 5000;
const COMMIT = /^[^:@]+(?::\d+\/[^:@]+)?:[0-9a-f]{40}$/u;
const ROOT = 0;

/** A pod that is killed before its drain is over cuts streams. */
export function graceFits({ deployment, container }: Cluster, { server }: GatewayConfig): string[] {
  const { terminationGracePeriodSeconds: graceSeconds = 30 } = deployment.spec.template.spec;
  const { preStop } = container.lifecycle ?? {};
  const needsSeconds =
    (preStop?.sleep?.seconds ?? 0) + ((server.drainDelayMs ?? DEFAULT_DRAIN_DELAY_MS) + server.drainTimeoutMs) / 1000;
  return [
    ...(graceSeconds < needsSeconds
      ? [
          `terminationGracePeriodSeconds is ${graceSeconds}, but preStop, drainDelay and drainTimeout take ${needsSeconds}`,
        ]
      : []),
    ...(preStop?.sleep === undefined ? ['preStop is no sleep: the image has no other program'] : []),
  ];
}

/** Shares of slots are counted by it. */
export function replicasMatch({ deployment }: Cluster, { server }: GatewayConfig): string[] {
  const { replicas } = deployment.spec;
  return replicas === server.replicas
    ? []
    : [`replicas is ${replicas ?? 'missing'}, and server.replicas ${server.replicas}`];
}

/** A rollout never takes a gateway away before its successor serves. */
export function rollsOverWithoutLoss({ deployment }: Cluster): string[] {
  const { strategy } = deployment.spec;
  const { maxUnavailable } = strategy?.rollingUpdate ?? {};
  return strategy?.type === 'RollingUpdate' && (maxUnavailable === 0 || maxUnavailable === '0%')
    ? []
    : [`a rollout may take gateways away first: maxUnavailable is ${maxUnavailable ?? 'missing'}, and must be 0`];
}

/** Everything that the pod could do and need not. */
export function isConfined({ deployment }: Cluster): string[] {
  const { spec } = deployment.spec.template;
  const { securityContext: pod = {} } = spec;
  const all = [...(spec.initContainers ?? []), ...spec.containers];
  return [
    ...(pod.runAsNonRoot === true ? [] : ['the pod may run as root: runAsNonRoot is not true']),
    ...((pod.runAsUser ?? ROOT) === ROOT ? ['the pod has no numeric runAsUser above 0'] : []),
    ...(pod.seccompProfile?.type === 'RuntimeDefault' ? [] : ['seccompProfile is not RuntimeDefault']),
    ...(spec.automountServiceAccountToken === false ? [] : ['the pod is given a service account token']),
    ...all.flatMap(containerFaults),
  ];
}

function containerFaults({ name, securityContext: own = {} }: Container): string[] {
  const { capabilities = {} } = own;
  const faults = [
    own.readOnlyRootFilesystem === true ? undefined : 'may write to its root file system',
    own.allowPrivilegeEscalation === false && own.privileged !== true ? undefined : 'may gain privileges',
    capabilities.drop?.includes('ALL') === true && (capabilities.add ?? []).length === 0
      ? undefined
      : 'keeps capabilities',
  ];
  return faults.flatMap((fault) => (fault === undefined ? [] : [`the container ${name} ${fault}`]));
}

/** Argo cannot see that a word now means another image. */
export function imagesAreCommits({ deployment }: Cluster): string[] {
  const { spec } = deployment.spec.template;
  return [...(spec.initContainers ?? []), ...spec.containers]
    .filter(({ image }) => !COMMIT.test(image))
    .map(({ name, image }) => `the image of ${name} is ${image}: its tag must be the 40 digits of a commit`);
}

export function hasResources({ container }: Cluster): string[] {
  const { requests, limits } = container.resources ?? {};
  const wanted = { 'requests.cpu': requests?.['cpu'], 'requests.memory': requests?.['memory'] };
  const allowed = { 'limits.cpu': limits?.['cpu'], 'limits.memory': limits?.['memory'] };
  return Object.entries({ ...wanted, ...allowed })
    .filter(([, value]) => value === undefined)
    .map(([path]) => `resources.${path} is missing`);
}

/** Three gateways on one node are one. */
export function isSpread({ deployment }: Cluster): string[] {
  const { topologySpreadConstraints: constraints = [] } = deployment.spec.template.spec;
  return constraints.some(({ topologyKey }) => topologyKey === 'kubernetes.io/hostname')
    ? []
    : ['the gateways are not spread over nodes: no topologySpreadConstraint on kubernetes.io/hostname'];
}

/** Each probe, and the path that the gateway answers it on. */
const PROBES = { startupProbe: '/healthz', readinessProbe: '/readyz', livenessProbe: '/healthz' } as const;

export function probesAsk({ container }: Cluster, { server }: GatewayConfig): string[] {
  const port = portOf(server.listen);
  return Object.entries(PROBES).flatMap(([probe, path]) => {
    const { httpGet } = container[probe as keyof typeof PROBES] ?? {};
    if (httpGet === undefined) return [`${probe} is missing`];
    const asked = (container.ports ?? []).find(({ name }) => name === httpGet.port)?.containerPort ?? httpGet.port;
    return [
      ...(httpGet.path === path ? [] : [`${probe} asks ${httpGet.path ?? 'nothing'}, not ${path}`]),
      ...(asked === port ? [] : [`${probe} asks port ${asked ?? 'none'}, and the gateway listens on ${port}`]),
    ];
  });
}

/** The container says which ports the configuration opens. */
export function portsMatch({ container }: Cluster, { server }: GatewayConfig): string[] {
  const expected = { http: portOf(server.listen), management: portOf(server.management) };
  return Object.entries(expected).flatMap(([name, port]) => {
    const said = container.ports?.find((one) => one.name === name)?.containerPort;
    return said === port
      ? []
      : [`the container port ${name} is ${said ?? 'missing'}, and the configuration says ${port}`];
  });
}

/** Nodes can be emptied, and never of all gateways at once. */
export function disruptionIsBounded(cluster: Cluster): string[] {
  const [budget] = cluster.all('PodDisruptionBudget');
  if (budget === undefined) return ['there is no PodDisruptionBudget'];
  const { maxUnavailable, minAvailable, selector } = budget.spec;
  const replicas = cluster.deployment.spec.replicas ?? 1;
  const mayGo = Number(maxUnavailable ?? replicas - Number(minAvailable ?? 0));
  return [
    ...(mayGo >= 1 && mayGo < replicas ? [] : [`the PodDisruptionBudget lets ${mayGo} of ${replicas} gateways go`]),
    ...(selects(selector, cluster.deployment) ? [] : ['the PodDisruptionBudget selects other pods']),
  ];
}
