import { createPublicKey } from 'node:crypto';
import jwksRsa from 'jwks-rsa';
import { Agent, errors, type Dispatcher } from 'undici';
import type { Clock } from '../../common/clock.js';
import type { FetchedKeys, KeyFault } from './core/key-set.js';
import { algorithmsFor, signatureJwks, type PublishedKey } from './core/usable-keys.js';

/** For the whole fetch, from the connection to the last byte. */
export const FETCH_TIMEOUT_MS = 2000;
export const MAX_SET_BYTES = 256 * 1024;
const MAX_HEAD_BYTES = 16 * 1024;
/** A fetch is rare: its socket does not wait for the next one, which looks the address up anew. */
const IDLE_SOCKET_MS = 1000;
const MEDIA_TYPES = ['application/json', 'application/jwk-set+json'];

/** A fetch that brought nothing usable. */
class FetchFault extends Error {
  constructor(readonly fault: KeyFault) {
    super(fault);
  }
}

/**
 * Fetches the keys of one issuer from the configured address and from nowhere else. jwks-rsa turns JWKs into keys; what
 * is asked, how much is read and which keys are good for anything is decided here.
 */
export class IssuerKeysClient {
  readonly #agent = new Agent({
    connections: 1,
    allowH2: false,
    keepAliveTimeout: IDLE_SOCKET_MS,
    keepAliveMaxTimeout: IDLE_SOCKET_MS,
    maxHeaderSize: MAX_HEAD_BYTES,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: FETCH_TIMEOUT_MS },
  });
  readonly #jwks: jwksRsa.JwksClient;

  constructor(
    private readonly jwksUri: string,
    private readonly algorithms: readonly string[],
    private readonly clock: Clock,
  ) {
    this.#jwks = jwksRsa({ jwksUri, cache: false, rateLimit: false, fetcher: () => this.#fetchSet() });
  }

  /** Never rejects: whatever goes wrong is a fault. */
  async fetch(): Promise<FetchedKeys> {
    try {
      const keys = (await this.#jwks.getSigningKeys()).flatMap((key) => this.#publishedKey(key));
      return keys.length > 0 ? { keys } : { fault: 'no_keys' };
    } catch (error) {
      return { fault: faultOf(error) };
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #publishedKey(key: jwksRsa.SigningKey): PublishedKey[] {
    const pem = key.getPublicKey();
    const algorithms = algorithmsFor(createPublicKey(pem), namedAlgorithm(key), this.algorithms);
    return algorithms.length > 0 ? [{ kid: key.kid, pem, algorithms }] : [];
  }

  async #fetchSet(): Promise<{ keys: object[] }> {
    const abort = new AbortController();
    const timer = this.clock.after(FETCH_TIMEOUT_MS, () => abort.abort());
    try {
      const keys = signatureJwks(parsed(await this.#read(abort.signal)));
      if (keys === undefined) throw new FetchFault('invalid');
      if (keys.length === 0) throw new FetchFault('no_keys');
      return { keys: [...keys] };
    } catch (error) {
      throw abort.signal.aborted ? new FetchFault('timeout') : error;
    } finally {
      timer.cancel();
    }
  }

  async #read(signal: AbortSignal): Promise<Buffer> {
    const { origin, pathname, search } = new URL(this.jwksUri);
    const headers = { accept: MEDIA_TYPES.join(', '), 'accept-encoding': 'identity' };
    const response = await this.#agent.request({ origin, path: pathname + search, method: 'GET', headers, signal });
    // A body that is given up reports that as an error to nobody in particular.
    response.body.on('error', () => undefined);
    const fault = headFault(response);
    if (fault === undefined) return readBody(response.body);
    response.body.destroy();
    throw new FetchFault(fault);
  }
}

/** jwks-rsa fills `alg` only where the key names one; its types promise it always. */
const namedAlgorithm = (key: { readonly alg?: string }): string | undefined => key.alg;

function headFault({ statusCode, headers }: Dispatcher.ResponseData): KeyFault | undefined {
  if (statusCode !== 200) return 'status';
  const field = (name: string): string => String(headers[name] ?? '').toLowerCase();
  const [type = ''] = field('content-type').split(';');
  if (!MEDIA_TYPES.includes(type.trim())) return 'media_type';
  if (!['', 'identity'].includes(field('content-encoding'))) return 'media_type';
  return Number(field('content-length')) > MAX_SET_BYTES ? 'oversize' : undefined;
}

async function readBody(body: AsyncIterable<unknown>): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > MAX_SET_BYTES) throw new FetchFault('oversize');
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new FetchFault('invalid');
  }
}

function faultOf(error: unknown): KeyFault {
  if (error instanceof FetchFault) return error.fault;
  if (error instanceof errors.ConnectTimeoutError) return 'timeout';
  if (error instanceof errors.HeadersOverflowError) return 'oversize';
  if (error instanceof errors.HTTPParserError) return 'invalid';
  // None of the keys was one that jwks-rsa can read.
  if (error instanceof jwksRsa.JwksError) return 'no_keys';
  return 'connect';
}
