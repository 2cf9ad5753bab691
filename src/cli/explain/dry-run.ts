import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { RequestRecord } from '../../common/request-record.js';
import { Gateway } from '../../http-server.js';
import type { GatewayConfig } from '../../modules/config/gateway.config.js';

const LOOPBACK = '127.0.0.1';
/** A request that is not whole waits for the rest; nobody is there to send it. */
const PATIENCE_MS = 3000;

/** What an upstream would have been sent. */
export interface SeenCall {
  readonly upstream: string;
  readonly line: string;
  /** Names in lower case. */
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** What became of a request. */
export interface DryRun {
  readonly record: RequestRecord | undefined;
  readonly calls: readonly SeenCall[];
  /** What the caller would get, as text of the wire. */
  readonly answer: string;
}

/**
 * Sends a request to this very gateway, on the loopback, with every upstream replaced by one that only notes what it is
 * sent: so it is routed, checked and edited by the code that does so in earnest, and reaches nobody.
 */
export async function dryRun(config: GatewayConfig, request: Buffer): Promise<DryRun> {
  const calls: SeenCall[] = [];
  const upstreams = await Promise.all(config.upstreams.map(({ name }) => noteTaker(name, calls)));
  let record: RequestRecord | undefined;
  try {
    const gateway = await Gateway.start(isolated(config, upstreams), { watch: (closed) => (record ??= closed) });
    try {
      const answer = await exchange(gateway.addresses().listen, request);
      return { record, calls, answer };
    } finally {
      await gateway.close();
    }
  } finally {
    for (const server of upstreams) server.close().closeAllConnections();
  }
}

async function noteTaker(upstream: string, calls: SeenCall[]): Promise<Server> {
  const note = (request: IncomingMessage, body: Buffer): void => {
    const line = `${request.method ?? ''} ${request.url ?? ''}`;
    calls.push({ upstream, line, headers: request.headers, body });
  };
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      note(request, body);
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  server.on('upgrade', (request, socket) => {
    note(request, Buffer.alloc(0));
    socket.end('HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n');
  });
  await once(server.listen(0, LOOPBACK), 'listening');
  return server;
}

/** The configuration as it is, but for what reaches out of this process. */
function isolated(config: GatewayConfig, upstreams: readonly Server[]): GatewayConfig {
  const anyPort = `${LOOPBACK}:0`;
  const own = { listen: anyPort, management: anyPort, trustedProxies: [`${LOOPBACK}/32`], workers: 1 };
  return Object.assign({}, config, {
    server: Object.assign({}, config.server, own),
    upstreams: config.upstreams.map((upstream, at) => {
      const url = `http://${LOOPBACK}:${(upstreams[at]?.address() as AddressInfo).port}`;
      const { observe: _polled, credentialFile: _secret, ...kept } = Object.assign({}, upstream, { url });
      return Object.assign(kept, { discover: 'single' as const });
    }),
    admission: Object.assign({}, config.admission, { store: 'none' }),
    auth: Object.assign({}, config.auth, { enabled: false }),
    budgets: Object.assign({}, config.budgets, { store: 'memory' }),
    telemetry: { logLevel: 'silent' as const, tracing: false },
  });
}

async function exchange(address: string, request: Buffer): Promise<string> {
  const socket = connect(Number(address.slice(address.lastIndexOf(':') + 1)), LOOPBACK);
  socket.setTimeout(PATIENCE_MS, () => socket.destroy());
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  socket.on('error', () => socket.destroy());
  socket.write(request);
  await once(socket, 'close');
  return Buffer.concat(pieces).toString('utf8');
}
