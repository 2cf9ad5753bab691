import { startEcho } from './echo.js';
import { startOllama } from './ollama.js';
import { startTei } from './tei.js';
import { startVllm } from './vllm.js';
import type { SimServer } from './wire/sim-app.js';

/** Where each engine of `config/local.yaml` listens; 0: on a port that is free. */
export interface LocalPorts {
  readonly reasoning: number;
  readonly ornith: number;
  readonly embeddings: number;
  readonly reranker: number;
  readonly echo: number;
}

export const LOCAL_PORTS: LocalPorts = { reasoning: 9101, ornith: 9102, embeddings: 9103, reranker: 9104, echo: 9105 };

export interface LocalEngines {
  readonly servers: Readonly<Record<keyof LocalPorts, SimServer>>;
  close(): Promise<void>;
}

/** At this pace an answer of usual length takes about a second, and its words can be seen coming. */
const TIME_SCALE = 4;

/** Starts every engine of the laptop's configuration on the loopback: all of them, or none and the reason. */
export async function startLocalEngines(ports: Partial<LocalPorts> = {}): Promise<LocalEngines> {
  const at = { ...LOCAL_PORTS, ...ports };
  const started = await Promise.allSettled([
    startVllm({ port: at.reasoning, models: ['reasoning'], engines: 2, maxModelLen: 16_384, timeScale: TIME_SCALE }),
    startOllama({
      port: at.ornith,
      models: ['ornith:35b', 'qwen2.5:3b-instruct'],
      reasoningModels: ['ornith:35b'],
      timeScale: TIME_SCALE,
    }),
    startTei({ port: at.embeddings, model: 'nomic-ai/nomic-embed-text-v2-moe', kind: 'embedding' }),
    startTei({ port: at.reranker, model: 'BAAI/bge-reranker-base', kind: 'reranker' }),
    startEcho({ port: at.echo }),
  ]);
  const close = async (): Promise<void> => {
    await Promise.all(started.map(async (one) => (one.status === 'fulfilled' ? one.value.close() : undefined)));
  };
  const [reasoning, ornith, embeddings, reranker, echo] = started.map((one) =>
    one.status === 'fulfilled' ? one.value : undefined,
  );
  if (reasoning && ornith && embeddings && reranker && echo) {
    return { servers: { reasoning, ornith, embeddings, reranker, echo }, close };
  }
  await close();
  throw started.find((one) => one.status === 'rejected')?.reason;
}
