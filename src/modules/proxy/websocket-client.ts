import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { connect as connectTcp, isIP, type Socket, type TcpNetConnectOpts } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { WebSocket, type ClientOptions } from 'ws';
import type { Clock } from '../../common/clock.js';
import { GatewayProblem } from '../../common/problem/gateway-problem.js';

/** TCP keep-alive after this silence; Linux, as Node sets it, then gives up after ten probes a second apart. */
const KEEP_ALIVE_DELAY_MS = 30_000;
const REFUSALS = new Set([401, 403, 407]);

/** How the library is used on both sides: no compression, pongs by the tunnel, and a short wait for the other's close. */
export const SOCKET_OPTIONS = {
  perMessageDeflate: false,
  skipUTF8Validation: false,
  autoPong: false,
  /** Milliseconds from a close frame to the end of the connection. */
  closeTimeout: 500,
} as const;

/** The largest message that the library can be told. */
export const maxPayloadOf = (maxMessageBytes: number): number => Math.min(maxMessageBytes, 2 ** 31 - 1);

/** A handshake with an upstream. */
export interface UpgradeCall {
  /** Scheme, address and port of the endpoint. */
  readonly origin: string;
  /** The upstream's name and port, for `Host` and the certificate. */
  readonly authority: string;
  /** Absent: it gets no credential. */
  readonly authorization?: string;
  /** Path and query, as they were checked. */
  readonly target: string;
  readonly fields: ReadonlyMap<string, readonly string[]>;
  /** Subprotocols to offer. */
  readonly protocols: readonly string[];
  readonly maxMessageBytes: number;
  /** From the first packet to the upstream's 101. */
  readonly connectMs: number;
}

/** An open WebSocket to an upstream, paused. */
export interface DialledSocket {
  readonly ws: WebSocket;
  readonly socket: Socket;
  /** The fields of its 101. */
  readonly headers: IncomingHttpHeaders;
  /** The subprotocol that it chose. */
  readonly protocol: string | undefined;
}

/**
 * Opens a WebSocket to an upstream. Rejects with the signal's reason, a GatewayProblem for an answer that is no valid
 * 101, or the error of the network; then nothing is left open.
 */
export function dialWebSocket(call: UpgradeCall, signal: AbortSignal, clock: Clock): Promise<DialledSocket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const ws = new WebSocket(call.origin, [], clientOptions(call));
    let answer: IncomingMessage | undefined;
    let protocol: string | undefined;
    let settled = false;
    const fail = (error: Error): void => {
      if (settled) return;
      done();
      reject(error);
      ws.terminate();
    };
    const onAbort = (): void => fail(signal.reason as Error);
    const timer = clock.after(call.connectMs, () => fail(timeout()));
    const done = (): void => {
      settled = true;
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    ws.on('error', (error) => fail('code' in error ? error : invalid(error.message)));
    ws.on('unexpected-response', (_request, response) => {
      response.on('error', () => undefined);
      fail(refusal(response.statusCode ?? 0));
    });
    ws.on('upgrade', (response) => {
      answer = response;
      protocol = takeProtocol(response);
      if (protocol !== undefined && !call.protocols.includes(protocol))
        fail(invalid('a subprotocol that was not offered'));
    });
    ws.on('open', () => {
      if (answer === undefined) return fail(invalid('no answer'));
      ws.pause();
      done();
      resolve({ ws, socket: answer.socket, headers: answer.headers, protocol });
    });
  });
}

/**
 * The library takes an upstream that chooses no subprotocol for a broken one, although RFC 6455 section 4.2.2 lets it.
 * So the offer is made past it, and the choice is taken out before it looks.
 */
function takeProtocol({ headers }: IncomingMessage): string | undefined {
  const chosen = headers['sec-websocket-protocol'];
  delete headers['sec-websocket-protocol'];
  return chosen;
}

function clientOptions(call: UpgradeCall): ClientOptions {
  const secure = call.origin.startsWith('https:');
  return {
    ...SOCKET_OPTIONS,
    followRedirects: false,
    maxPayload: maxPayloadOf(call.maxMessageBytes),
    createConnection: ((options: TcpNetConnectOpts) =>
      openSocket(options, secure ? new URL(`https://${call.authority}`).hostname : undefined)) as typeof connectTcp,
    finishRequest: (request) => {
      // Past the library's URL parser: what was checked is what is sent.
      request.path = call.target;
      for (const [name, values] of call.fields)
        request.setHeader(name, values.length === 1 ? (values[0] ?? '') : values);
      request.setHeader('host', call.authority);
      if (call.authorization !== undefined) request.setHeader('authorization', call.authorization);
      if (call.protocols.length > 0) request.setHeader('sec-websocket-protocol', call.protocols.join(', '));
      request.end();
    },
  };
}

/** `certificateFor`: whose certificate is asked for; undefined: the connection is not encrypted. */
function openSocket({ host = '', port }: TcpNetConnectOpts, certificateFor: string | undefined): Socket {
  const options = { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_DELAY_MS };
  if (certificateFor === undefined) return connectTcp(options);
  const tls: ConnectionOptions = { ...options, ...(isIP(certificateFor) === 0 && { servername: certificateFor }) };
  return connectTls(tls);
}

const timeout = (): Error =>
  Object.assign(new Error('the upstream did not complete the handshake in time'), { code: 'ETIMEDOUT' });

const invalid = (cause: string): GatewayProblem =>
  new GatewayProblem('upstream-invalid', {
    detail: 'The upstream did not answer as a WebSocket server does (server_error).',
    cause,
  });

function refusal(status: number): GatewayProblem {
  const cause = `status ${status}`;
  if (REFUSALS.has(status))
    return new GatewayProblem('upstream-refused-us', { detail: 'The upstream refused the gateway.', cause });
  if (status >= 300 && status < 400) {
    const detail = 'The upstream answered with a redirect, which is not followed.';
    return new GatewayProblem('upstream-refused-us', { detail, cause });
  }
  const detail = `The upstream answered the handshake with status ${status} (server_error).`;
  return new GatewayProblem('upstream-invalid', { detail, cause });
}
