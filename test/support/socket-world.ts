import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket, type ClientOptions } from 'ws';
import type { TestProxy } from './gateway-config.js';
import type { JsonObject } from './json.js';
import { frame, handshakeBytes, RawSocketClient, type FrameParts } from './raw-socket-client.js';
import { SocketUpstream, type Accepted } from './socket-upstream.js';
import { startGateway, type RunningGateway } from './start-gateway.js';

export interface DialOptions extends ClientOptions {
  readonly protocols?: string[];
}

/** A client and an upstream with the gateway between them. */
export interface TestTunnel extends Accepted {
  readonly client: WebSocket;
}

export interface WorldOptions {
  readonly slots?: { readonly limit: number; readonly perEndpoint: number };
  /** Keys of the section `server`. */
  readonly server?: JsonObject;
  /** Keys of the section `auth`. */
  readonly auth?: JsonObject;
}

const SLOTS = { limit: 8, perEndpoint: 8 };

type HandshakeAnswer = (request: IncomingMessage, socket: Socket, head: Buffer) => void;

export const MiB = 1024 * 1024;

/** A gateway in front of one upstream that speaks WebSocket. */
export class SocketWorld {
  /** Answers the next handshakes by hand; undefined: as they should be. */
  answer: HandshakeAnswer | undefined;

  private constructor(
    readonly gateway: RunningGateway,
    readonly upstream: SocketUpstream,
  ) {}

  static async start(
    proxies: readonly TestProxy[],
    { slots = SLOTS, server = {}, auth = {} }: WorldOptions = {},
  ): Promise<SocketWorld> {
    let world: SocketWorld | undefined = undefined;
    const upstream: SocketUpstream = await SocketUpstream.start({
      handleProtocols: (offered) => (offered.has('chosen') ? 'chosen' : false),
      answer: (request, socket, head) => {
        if (world?.answer === undefined) upstream.accept(request, socket, head);
        else world.answer(request, socket, head);
      },
    });
    const upstreams = [
      { name: 'console', url: upstream.url, engine: 'http' as const, slots },
      { name: 'refusing', url: 'http://127.0.0.1:9', engine: 'http' as const },
    ];
    world = new SocketWorld(await startGateway({ upstreams, proxies, server, auth }), upstream);
    return world;
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    await this.upstream.stop();
  }

  dial(path: string, { protocols = [], ...options }: DialOptions = {}): WebSocket {
    const client = new WebSocket(`ws://127.0.0.1:${String(this.gateway.port)}${path}`, protocols, options);
    client.on('error', () => undefined);
    return client;
  }

  async tunnel(path: string, options?: DialOptions): Promise<TestTunnel> {
    const client = this.dial(path, options);
    const [accepted] = await Promise.all([this.upstream.next(), once(client, 'open')]);
    return { ...accepted, client };
  }

  /** The status and problem of a handshake that is refused. */
  async refusal(path: string, options: DialOptions = {}): Promise<{ status: number; problem: unknown }> {
    const client = this.dial(path, options);
    const [, response] = (await once(client, 'unexpected-response')) as [unknown, IncomingMessage];
    const body = Buffer.concat((await response.toArray()) as Buffer[]);
    return { status: response.statusCode ?? 0, problem: JSON.parse(body.toString()) as unknown };
  }

  /** A handshake written by hand, and frames in the same packet. */
  raw(
    path: string,
    fields: Readonly<Record<string, string | undefined>> = {},
    ...frames: readonly FrameParts[]
  ): Promise<RawSocketClient> {
    return RawSocketClient.open(this.gateway.port, handshakeBytes(path, fields), ...frames.map(frame));
  }

  slotsInUse(): Promise<number | undefined> {
    return this.gateway.metric('slots_in_use', { upstream: 'console' });
  }

  /** Settles when no socket holds a slot any more. */
  async slotsFree(): Promise<void> {
    await eventually(async () => (await this.slotsInUse()) === 0);
  }
}

/** Settles when it holds; the test's own time limit is the only one. */
export async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await delay(20);
}

/** Sends messages of 1 MiB, each when the one before has been handed to the kernel. */
export class Flood {
  acceptedBytes = 0;

  constructor(
    private readonly ws: WebSocket,
    private left: number,
  ) {
    this.next();
  }

  /** Settles when nothing more has been taken for a while. */
  async stalls(): Promise<void> {
    let before = -1;
    while (before !== this.acceptedBytes) {
      before = this.acceptedBytes;
      await delay(250);
    }
  }

  private next(): void {
    if (this.left === 0) return;
    this.left -= 1;
    this.ws.send(Buffer.alloc(MiB), (error) => {
      if (error) return;
      this.acceptedBytes += MiB;
      this.next();
    });
  }
}
