import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { startLocalEngines } from './local-engines.js';

const ANY = { reasoning: 0, ornith: 0, embeddings: 0, reranker: 0, echo: 0 };

describe('the local engines', () => {
  it('serve every model of the laptop, and end together', async () => {
    const engines = await startLocalEngines(ANY);
    const { reasoning, ornith, embeddings, reranker, echo } = engines.servers;
    const models = async (url: string): Promise<string[]> =>
      ((await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string }[] }).data.map(({ id }) => id);
    const info = async (url: string) => (await fetch(`${url}/info`)).json();
    expect(await models(reasoning.url)).toEqual(['reasoning']);
    expect(await models(ornith.url)).toEqual(['ornith:35b', 'qwen2.5:3b-instruct']);
    expect(await info(embeddings.url)).toMatchObject({ model_id: 'nomic-ai/nomic-embed-text-v2-moe' });
    expect(await info(reranker.url)).toMatchObject({ model_id: 'BAAI/bge-reranker-base' });
    expect((await fetch(echo.url)).status).toBe(200);
    await engines.close();
    await expect(fetch(echo.url)).rejects.toThrow('fetch failed');
  });

  it('start all or none', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    await expect(startLocalEngines({ ...ANY, echo: port })).rejects.toThrow('EADDRINUSE');
    taken.close();
  });
});
