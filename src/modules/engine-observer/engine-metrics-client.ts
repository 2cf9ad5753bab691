import { isIP } from 'node:net';
import { Client, errors, type Dispatcher } from 'undici';
import type { Clock } from '../../common/clock.js';
import type { EndpointPlace } from './core/endpoint-place.js';
import type { PageHead, PageReader, PageVerdict } from './core/page-reader.js';
import type { ScrapeFault } from './core/scrape-fault.js';

export const MAX_PAGE_BYTES = 4 * 1024 * 1024;
const MAX_HEAD_BYTES = 16 * 1024;
/** Below what engines' servers keep an idle socket: the gateway is the side that lets go. */
const IDLE_SOCKET_MS = 4000;

export interface MetricsTarget {
  readonly place: EndpointPlace;
  readonly path: string;
  /** For the whole poll, from the connection to the last byte. */
  readonly timeoutMs: number;
}

/** A judged page, and when its answer began. */
export interface PollResult {
  readonly verdict: PageVerdict;
  readonly takenAtMs: number;
}

/** Asks one engine for its metrics page, on a socket of its own: polls take no place from traffic, nor wait for one. */
export class EngineMetricsClient {
  readonly #client: Client;

  constructor(
    private readonly target: MetricsTarget,
    private readonly clock: Clock,
  ) {
    this.#client = openClient(target);
  }

  /** Sends `bearer` along, if there is one. Never rejects: whatever goes wrong is a verdict. */
  async poll(reader: PageReader, bearer: string | undefined): Promise<PollResult> {
    const abort = new AbortController();
    const timer = this.clock.after(this.target.timeoutMs, () => abort.abort());
    const startedAtMs = this.clock.now();
    try {
      return await this.#ask(reader, bearer, abort.signal);
    } catch (error) {
      const verdict = abort.signal.aborted
        ? failed('timeout', `no answer within ${this.target.timeoutMs} ms`)
        : failed(faultFrom(error), textOf(error));
      return { verdict, takenAtMs: startedAtMs };
    } finally {
      timer.cancel();
    }
  }

  /** Ends a poll that runs. */
  async close(): Promise<void> {
    await this.#client.destroy();
  }

  async #ask(reader: PageReader, bearer: string | undefined, signal: AbortSignal): Promise<PollResult> {
    const { path, place } = this.target;
    const headers = {
      host: place.authority,
      accept: 'text/plain;version=0.0.4, application/json;q=0.5, */*;q=0.1',
      'accept-encoding': 'identity',
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
    };
    const response = await this.#client.request({ path, method: 'GET', headers, signal });
    const takenAtMs = this.clock.now();
    // A body that is given up reports that as an error to nobody in particular.
    response.body.on('error', () => undefined);
    const verdict = (await readBody(response, reader)) ?? reader.finish(headOf(response));
    return { verdict, takenAtMs };
  }
}

function openClient({ place, timeoutMs }: MetricsTarget): Client {
  return new Client(place.origin, {
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: IDLE_SOCKET_MS,
    keepAliveMaxTimeout: IDLE_SOCKET_MS,
    maxHeaderSize: MAX_HEAD_BYTES,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: timeoutMs, ...serverName(place) },
  });
}

/** The certificate is the name's, whatever address is dialled. */
function serverName({ authority }: EndpointPlace): { servername?: string } {
  const { hostname } = new URL(`https://${authority}`);
  return isIP(hostname.replace(/^\[|\]$/gu, '')) === 0 ? { servername: hostname } : {};
}

/** Hands the body to the reader. A verdict: it was not worth reading to its end. */
async function readBody(response: Dispatcher.ResponseData, reader: PageReader): Promise<PageVerdict | undefined> {
  const refusal = refusalOf(response, reader);
  if (refusal !== undefined) {
    response.body.destroy();
    return refusal;
  }
  let bytes = 0;
  for await (const chunk of response.body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_PAGE_BYTES) return failed('oversize', `the page has more than ${MAX_PAGE_BYTES} bytes`);
    if (!reader.push(chunk)) break;
  }
  return undefined;
}

function refusalOf(response: Dispatcher.ResponseData, reader: PageReader): PageVerdict | undefined {
  const { header, status, contentType } = headOf(response);
  if (!reader.statuses.includes(status)) return failed('status', `the answer has status ${status}`);
  if (contentType.startsWith('text/html')) return failed('bad_content', 'the answer is a web page');
  const encoding = header('content-encoding') ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') return failed('bad_content', 'the answer is compressed, unasked');
  if (Number(header('content-length') ?? 0) > MAX_PAGE_BYTES) {
    return failed('oversize', `the page has more than ${MAX_PAGE_BYTES} bytes`);
  }
  return undefined;
}

function headOf({ statusCode, headers }: Dispatcher.ResponseData): PageHead {
  const header = (name: string): string | undefined => [headers[name]].flat()[0];
  return { status: statusCode, contentType: (header('content-type') ?? '').toLowerCase(), header };
}

const failed = (fault: ScrapeFault, detail: string): PageVerdict => ({ ok: false, fault, detail, skipped: {} });

function faultFrom(error: unknown): ScrapeFault {
  if (error instanceof errors.HTTPParserError) return 'bad_content';
  const code = codeOf(error);
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'timeout';
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return 'oversize';
  return 'connect';
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** The code where there is one: messages may quote what the engine sent. */
function textOf(error: unknown): string {
  const code = codeOf(error);
  if (code !== '') return code;
  return error instanceof Error ? error.name : typeof error;
}
