import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { percentile } from './measure.js';
import { requestBytes } from './raw-client.js';

/** What one streamed request came to. */
export interface LoadSample {
  readonly status: number;
  /** It ended as a stream that is whole does. */
  readonly whole: boolean;
  /** To the first token, in ms; NaN: there was none. */
  readonly firstMs: number;
  readonly totalMs: number;
}

export interface LoadOrder {
  readonly tenant: string;
  readonly band?: string;
  /** The members of the n-th request, besides the model; absent: a short prompt. */
  readonly members?: (call: number) => Readonly<Record<string, unknown>>;
}

const TOKEN = /"(?:reasoning_)?content":"[^"]/;
const LAST_CHUNK = '0\r\n\r\n';
const LAST_EVENT = 'data: [DONE]\n\n';
/** Of what has come, so much is looked at again with the next piece. */
const SEAM = 64;

/** A client that keeps one connection and costs next to nothing: hundreds of them fit into one test. */
export class LoadClient {
  #socket: Socket | undefined;
  #calls = 0;
  #stopped = false;

  constructor(
    private readonly port: number,
    private readonly order: LoadOrder,
  ) {}

  /** Sends one request and reads its answer to the end. Rejects where the connection breaks before. */
  async ask(): Promise<LoadSample> {
    const socket = await this.connected();
    const { tenant, band, members = shortPrompt } = this.order;
    const call = this.#calls++;
    const startedAt = performance.now();
    const answer = readAnswer(socket, startedAt);
    socket.write(
      requestBytes({
        method: 'POST',
        path: '/v1/chat/completions',
        headers: {
          'content-type': 'application/json',
          'x-llmgw-session': tenant,
          ...(band === undefined ? {} : { 'x-llmgw-band': band }),
        },
        body: JSON.stringify({ model: 'demo-chat', stream: true, ...members(call) }),
      }),
    );
    return answer;
  }

  /** So many requests, one after the other. */
  async askTimes(times: number, pauseMs: () => number = () => 0): Promise<LoadSample[]> {
    const samples: LoadSample[] = [];
    for (let i = 0; i < times; i += 1) {
      await delay(pauseMs());
      samples.push(await this.ask());
    }
    return samples;
  }

  /** One request after the other until it is stopped. */
  async keepAsking(onSample: (sample: LoadSample) => void = () => undefined): Promise<void> {
    while (!this.#stopped) {
      const sample = await this.ask().catch(() => undefined);
      if (this.#stopped) return;
      if (sample === undefined) await delay(100);
      else onSample(sample);
    }
  }

  /** Leaves, whatever runs. */
  stop(): void {
    this.#stopped = true;
    this.#socket?.destroy();
  }

  private async connected(): Promise<Socket> {
    if (this.#socket === undefined || this.#socket.destroyed) {
      this.#socket = connect({ port: this.port, host: '127.0.0.1', noDelay: true });
      await once(this.#socket, 'connect');
    }
    return this.#socket;
  }
}

const shortPrompt = (call: number): object => ({ messages: [{ role: 'user', content: `hello ${String(call)}` }] });

/** Reads what comes without parsing it: a stream's answer ends with its last chunk, any other with the length it announced. */
function readAnswer(socket: Socket, startedAt: number): Promise<LoadSample> {
  return new Promise((resolve, reject) => {
    let seen = '';
    let status = 0;
    let whole = false;
    let firstMs = NaN;
    const end = (error?: Error): void => {
      socket.off('data', take).off('close', broken).off('error', broken);
      if (error === undefined) resolve({ status, whole, firstMs, totalMs: performance.now() - startedAt });
      else reject(error);
    };
    const broken = (): void => {
      end(new Error('the connection broke'));
    };
    const take = (piece: Buffer): void => {
      seen += piece.toString('latin1');
      if (status === 0 && !seen.includes('\r\n\r\n')) return;
      if (status === 0) status = Number(seen.slice(9, 12));
      if (Number.isNaN(firstMs) && TOKEN.test(seen)) firstMs = performance.now() - startedAt;
      whole ||= seen.includes(LAST_EVENT);
      if (status !== 200 || seen.endsWith(LAST_CHUNK)) end();
      else seen = seen.slice(-SEAM);
    };
    socket.on('data', take).on('close', broken).on('error', broken);
  });
}

/** Clients that ask and ask again, all of them at once. */
export class Crowd {
  readonly samples: LoadSample[] = [];
  readonly #clients: LoadClient[];
  #loops: Promise<unknown> = Promise.resolve();

  constructor(port: number, orders: readonly LoadOrder[]) {
    this.#clients = orders.map((order) => new LoadClient(port, order));
  }

  /** Begins, one client so long after the other. */
  start(apartMs = 0): this {
    this.#loops = Promise.all(
      this.#clients.map(async (client, at) => {
        await delay(at * apartMs);
        await client.keepAsking((sample) => this.samples.push(sample));
      }),
    );
    return this;
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) client.stop();
    await this.#loops;
  }
}

export const repeated = <T>(times: number, of: (at: number) => T): T[] =>
  Array.from({ length: times }, (_, at) => of(at));

/** The time that 99 of 100 requests stay within. */
export const p99 = (samples: readonly LoadSample[], time: 'firstMs' | 'totalMs'): number =>
  percentile(
    samples.map((sample) => sample[time]),
    0.99,
  );
