import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A request exactly as it came over the wire. */
export interface WireRequest {
  readonly method: string;
  readonly target: string;
  /** Names in lower case, in their order, repeated ones too. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** The field's only value. Throws where it stands twice. */
  field(name: string): string | undefined;
}

/** The bytes of an answer; undefined: none is given, and the connection stays open. */
export type WireAnswer = (request: WireRequest, socket: Socket) => string | Buffer | undefined;

/** An upstream that reads bytes, not HTTP: nothing that it is sent can be hidden from it by a lenient parser. */
export class WireUpstream {
  requests: WireRequest[] = [];
  /** Connections that were opened so far, used or not. */
  connections = 0;
  answer: WireAnswer = echo;
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {
    server.on('connection', (socket: Socket) => {
      this.connections += 1;
      this.sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => this.sockets.delete(socket));
      this.read(socket);
    });
  }

  static async start(): Promise<WireUpstream> {
    const server = createServer();
    const upstream = new WireUpstream(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return upstream;
  }

  get url(): string {
    return `http://${this.authority}`;
  }

  get authority(): string {
    return `127.0.0.1:${String((this.server.address() as AddressInfo).port)}`;
  }

  get lastRequest(): WireRequest {
    const last = this.requests.at(-1);
    if (last === undefined) throw new Error('the upstream has not been asked');
    return last;
  }

  /** Connections that are open now. */
  get open(): number {
    return this.sockets.size;
  }

  async stop(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private read(socket: Socket): void {
    let pending = Buffer.alloc(0);
    socket.on('data', (bytes) => {
      pending = Buffer.concat([pending, bytes]);
      for (let found = takeRequest(pending); found !== undefined; found = takeRequest(pending)) {
        pending = Buffer.from(pending.subarray(found.size));
        this.requests.push(found.request);
        const answer = this.answer(found.request, socket);
        if (answer !== undefined) socket.write(answer);
      }
    });
  }
}

/** A complete answer with one JSON body. */
export function jsonAnswer(document: unknown, status = '200 OK', fields: readonly string[] = []): string {
  const body = JSON.stringify(document);
  const lines = ['content-type: application/json', `content-length: ${String(Buffer.byteLength(body))}`, ...fields];
  return `HTTP/1.1 ${status}\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** What a completion says: the marker that its request holds, so that nobody can be given another's answer unnoticed. */
export const completionOf = (request: WireRequest) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_760_000_000,
  model: 'demo-chat',
  choices: [{ index: 0, message: { role: 'assistant', content: markerIn(request) }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

const echo: WireAnswer = (request) => jsonAnswer(completionOf(request));

const markerIn = ({ body, target }: WireRequest): string =>
  /mark-[a-z0-9-]+/.exec(body.toString('latin1'))?.[0] ?? target;

function takeRequest(bytes: Buffer): { request: WireRequest; size: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [line = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const [method = '', target = ''] = line.split(' ');
  const fields = lines.map((one): [string, string] => {
    const colon = one.indexOf(':');
    return [one.slice(0, colon).toLowerCase(), one.slice(colon + 1).trim()];
  });
  const field = (name: string): string | undefined => {
    const values = fields.filter(([each]) => each === name);
    if (values.length > 1) throw new Error(`the field ${name} stands ${String(values.length)} times`);
    return values[0]?.[1];
  };
  if (field('transfer-encoding') !== undefined) throw new Error('the gateway always knows the length of what it sends');
  const size = end + 4 + Number(field('content-length') ?? 0);
  if (bytes.length < size) return undefined;
  return { request: { method, target, fields, field, body: Buffer.from(bytes.subarray(end + 4, size)) }, size };
}
