import { Agent } from 'undici';

export const PEERS_PATH = '/internal/admission';
export const MAX_LEDGER_BYTES = 256 * 1024;
const MAX_HEAD_BYTES = 16 * 1024;
const TIMEOUT_MS = 800;
const IDLE_SOCKET_MS = 4000;

/** Asks other gateways for their ledgers, on sockets of its own. */
export class PeersClient {
  readonly #agent = new Agent({
    connections: 1,
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: MAX_HEAD_BYTES,
    keepAliveTimeout: IDLE_SOCKET_MS,
    connect: { timeout: TIMEOUT_MS },
  });

  /** The text of its answer. Rejects with why there is none. */
  async read(origin: string, bearer: string): Promise<string> {
    const response = await this.#agent.request({
      origin,
      path: PEERS_PATH,
      method: 'GET',
      headers: { authorization: `Bearer ${bearer}`, accept: 'application/json', 'accept-encoding': 'identity' },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (response.statusCode !== 200) {
      response.body.on('error', () => undefined).destroy();
      throw new Error(`status ${response.statusCode}`);
    }
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of response.body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_LEDGER_BYTES) throw new Error(`more than ${MAX_LEDGER_BYTES} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}
