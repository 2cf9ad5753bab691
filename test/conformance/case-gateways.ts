import { IdentityProvider, issuerKey } from '../support/identity-provider.js';
import { ScriptedEngine } from '../support/scripted-engine.js';
import { startGateway, type RunningGateway } from '../support/start-gateway.js';
import type { TestModel } from '../support/gateway-config.js';
import type { CaseUpstream } from './case-file.js';

/** A gateway with one scripted engine behind it. */
export interface Pair {
  readonly engine: ScriptedEngine;
  readonly gateway: RunningGateway;
  /** What a caller sends who may do everything here. */
  readonly credential: string;
}

/** The service account whose token the cases hold. */
const CLIENT = 'conformance';

const DEFAULT_SERVES = ['demo-chat', 'demo-embed', 'demo-rerank'];

/** Keeps one gateway for each kind of engine and list of models that the cases ask for. */
export class CaseGateways {
  private readonly pairs = new Map<string, Promise<Pair>>();
  private identity: Promise<IdentityProvider> | undefined;

  for({ engine = 'vllm', serves = DEFAULT_SERVES }: CaseUpstream): Promise<Pair> {
    const key = [engine, ...serves].join(' ');
    const pair = this.pairs.get(key) ?? this.startPair(engine, serves);
    this.pairs.set(key, pair);
    return pair;
  }

  async stop(): Promise<void> {
    const started = await Promise.allSettled(this.pairs.values());
    const pairs = started.filter((each) => each.status === 'fulfilled').map(({ value }) => value);
    await Promise.all(pairs.map(({ gateway }) => gateway.stop()));
    await Promise.all(pairs.map(({ engine }) => engine.stop()));
    await (await this.identity)?.stop();
  }

  private async startPair(kind: 'vllm' | 'ollama' | 'openai', serves: readonly string[]): Promise<Pair> {
    this.identity ??= issuerKey('first').then((key) => IdentityProvider.start([CLIENT], key));
    const identity = await this.identity;
    const engine = await ScriptedEngine.start({ serves });
    try {
      const gateway = await startGateway({
        upstreams: [{ name: 'scripted', url: engine.url, engine: kind }],
        models: serves.map(modelNamed),
        auth: { enabled: true, issuers: [identity.section] },
      });
      return { engine, gateway, credential: await identity.token(CLIENT) };
    } catch (error) {
      await engine.stop();
      throw error;
    }
  }
}

function modelNamed(id: string): TestModel {
  const operations = id.includes('embed')
    ? (['embeddings'] as const)
    : id.includes('rerank')
      ? (['rerank'] as const)
      : (['chat', 'completions'] as const);
  return { id, upstream: 'scripted', operations };
}
