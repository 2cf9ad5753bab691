import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parse, parseAllDocuments } from 'yaml';
import type { GatewayConfig } from '../../src/modules/config/gateway.config.js';
import { parseConfig } from '../../src/modules/config/load-config.js';
import type { Container, Deployment, KubeObject, Kinds } from './kube-objects.js';

const CONTAINER = 'gateway';
const CONFIG_KEY = 'gateway.yaml';

/** What would be applied, and the configuration that its gateway would read. */
export class Cluster {
  constructor(readonly objects: readonly KubeObject[]) {}

  /** As `kubectl kustomize` renders a folder, and the Argo application that applies it. */
  static render(folder: string): Cluster {
    const text = execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8' });
    const objects = parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
    return new Cluster([...objects, parse(readFileSync(`${folder}/argo/application.yaml`, 'utf8')) as KubeObject]);
  }

  /** A copy to be spoilt. */
  copy(): Cluster {
    return new Cluster(structuredClone(this.objects));
  }

  all<Kind extends keyof Kinds>(kind: Kind): readonly Kinds[Kind][] {
    return this.objects.filter((object) => object.kind === kind) as Kinds[Kind][];
  }

  /** The only object of this kind, or the one of this name. Throws where there is none: nothing can be said then. */
  one<Kind extends keyof Kinds>(kind: Kind, name?: string): Kinds[Kind] {
    const found = this.all(kind).find((object) => name === undefined || object.metadata.name === name);
    if (found === undefined) throw new Error(`there is no ${kind}${name === undefined ? '' : ` ${name}`}`);
    return found;
  }

  get deployment(): Deployment {
    return this.one('Deployment');
  }

  get container(): Container {
    const found = this.deployment.spec.template.spec.containers.find(({ name }) => name === CONTAINER);
    if (found === undefined) throw new Error(`the Deployment has no container ${CONTAINER}`);
    return found;
  }

  /** The environment that the container gets, as far as it is written out. */
  get env(): Readonly<Record<string, string>> {
    return Object.fromEntries((this.container.env ?? []).map(({ name, value }) => [name, value ?? '']));
  }

  /** The mounted configuration, read by the gateway's own loader with the container's environment. */
  config(): GatewayConfig {
    const mounts = this.deployment.spec.template.spec.volumes ?? [];
    const mounted = mounts.find(({ configMap }) => configMap !== undefined)?.configMap?.name;
    const text = this.one('ConfigMap', mounted).data?.[CONFIG_KEY];
    if (text === undefined) throw new Error(`the mounted ConfigMap has no ${CONFIG_KEY}`);
    return parseConfig(text, CONFIG_KEY, this.env).config;
  }
}
