/** The members of Kubernetes objects that the policy reads. None is promised but those without which nothing works. */
interface Named {
  metadata: { name: string; namespace?: string; labels?: Labels; annotations?: Labels };
}
export type Labels = Record<string, string>;
type Of<Kind extends string, Spec> = Named & { kind: Kind; spec: Spec };

export interface Selector {
  matchLabels?: Labels;
}

interface HttpProbe {
  httpGet?: { path?: string; port?: string | number };
  periodSeconds?: number;
  failureThreshold?: number;
}

export interface Container {
  name: string;
  image: string;
  command?: string[];
  args?: string[];
  env?: { name: string; value?: string }[];
  ports?: { name?: string; containerPort: number }[];
  resources?: { requests?: Labels; limits?: Labels };
  securityContext?: {
    allowPrivilegeEscalation?: boolean;
    privileged?: boolean;
    readOnlyRootFilesystem?: boolean;
    capabilities?: { drop?: string[]; add?: string[] };
  };
  startupProbe?: HttpProbe;
  readinessProbe?: HttpProbe;
  livenessProbe?: HttpProbe;
  lifecycle?: { preStop?: { sleep?: { seconds: number }; exec?: unknown; httpGet?: unknown } };
}

export interface PodSpec {
  automountServiceAccountToken?: boolean;
  terminationGracePeriodSeconds?: number;
  securityContext?: { runAsNonRoot?: boolean; runAsUser?: number; seccompProfile?: { type?: string } };
  topologySpreadConstraints?: { topologyKey?: string; labelSelector?: Selector }[];
  containers: Container[];
  initContainers?: Container[];
  volumes?: { name: string; configMap?: { name: string } }[];
}

export type Deployment = Of<
  'Deployment',
  {
    replicas?: number;
    selector: Selector;
    strategy?: { type?: string; rollingUpdate?: { maxUnavailable?: string | number } };
    template: { metadata: { labels?: Labels }; spec: PodSpec };
  }
>;

export type Service = Of<
  'Service',
  {
    clusterIP?: string;
    publishNotReadyAddresses?: boolean;
    selector?: Labels;
    ports: { name?: string; port: number; targetPort?: string | number }[];
  }
>;

export type Ingress = Of<
  'Ingress',
  {
    ingressClassName?: string;
    rules: { host?: string; http: { paths: { backend: { service: ServiceBackend } }[] } }[];
  }
>;

export interface ServiceBackend {
  name: string;
  port: { name?: string; number?: number };
}

export interface NetworkPeer {
  namespaceSelector?: Selector;
  podSelector?: Selector;
  ipBlock?: { cidr: string; except?: string[] };
}

export interface NetworkRule {
  from?: NetworkPeer[];
  to?: NetworkPeer[];
  ports?: { protocol?: string; port?: string | number }[];
}

export type NetworkPolicy = Of<
  'NetworkPolicy',
  { podSelector: Selector; policyTypes?: string[]; ingress?: NetworkRule[]; egress?: NetworkRule[] }
>;

export type ServiceMonitor = Of<
  'ServiceMonitor',
  { selector: Selector; endpoints: { port?: string; path?: string }[] }
>;

export interface AlertRule {
  alert?: string;
  expr: string;
  for?: string;
  annotations?: Labels;
}

/** Each kind under its name. */
export interface Kinds {
  Deployment: Deployment;
  Service: Service;
  Ingress: Ingress;
  NetworkPolicy: NetworkPolicy;
  ServiceMonitor: ServiceMonitor;
  ConfigMap: Named & { kind: 'ConfigMap'; data?: Labels };
  PodDisruptionBudget: Of<
    'PodDisruptionBudget',
    { selector: Selector; maxUnavailable?: string | number; minAvailable?: string | number }
  >;
  PrometheusRule: Of<'PrometheusRule', { groups: { name: string; rules: AlertRule[] }[] }>;
  Application: Of<
    'Application',
    {
      source: { path?: string; targetRevision?: string };
      destination: { namespace?: string };
      syncPolicy?: { automated?: { prune?: boolean; selfHeal?: boolean } };
    }
  >;
}

export type KubeObject = Kinds[keyof Kinds];
