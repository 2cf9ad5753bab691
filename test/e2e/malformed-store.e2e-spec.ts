import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { leftOf } from '../support/budget-wire.js';
import { RedisServer } from '../support/redis-server.js';
import { eventually } from '../support/socket-world.js';
import { startGateway, type RunningGateway } from '../support/start-gateway.js';

/** Those that ask, and those that listen. */
type Kind = 'asking' | 'listening';

/** A line to a Redis on which anybody can say what Redis would not. */
class StoreLine {
  /** Nobody gets through any more. */
  down = false;
  private readonly clients = new Map<Socket, Kind>();

  private constructor(
    private readonly server: Server,
    private readonly to: number,
  ) {
    server.on('connection', (client) => this.join(client));
  }

  static async to(port: number): Promise<StoreLine> {
    const line = new StoreLine(createServer({ noDelay: true }), port);
    line.server.listen(0, '127.0.0.1');
    await once(line.server, 'listening');
    return line;
  }

  get url(): string {
    return `redis://127.0.0.1:${String((this.server.address() as AddressInfo).port)}/0`;
  }

  of(kind: Kind): Socket[] {
    return [...this.clients].flatMap(([client, its]) => (its === kind ? [client] : []));
  }

  async stop(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    for (const client of this.clients.keys()) client.destroy();
    await closed;
  }

  private join(client: Socket): void {
    client.on('error', () => client.destroy());
    if (this.down) return void client.destroy();
    const server = connect({ port: this.to, host: '127.0.0.1', noDelay: true });
    server.on('error', () => server.destroy());
    this.clients.set(client, 'asking');
    client.on('data', (bytes) => {
      if (/subscribe/i.test(bytes.toString('latin1'))) this.clients.set(client, 'listening');
    });
    client.pipe(server).pipe(client);
    server.once('close', () => client.destroy());
    client.once('close', () => {
      this.clients.delete(client);
      server.destroy();
    });
  }
}

const MALFORMED: readonly [string, string, Kind][] = [
  ['a message without a channel', '>1\r\n$7\r\nmessage\r\n', 'listening'],
  ['a null that nobody asked for', '$-1\r\n', 'listening'],
  ['a null that nobody asked for', '$-1\r\n', 'asking'],
  ['the other null', '_\r\n', 'asking'],
  ['news of nothing', '>1\r\n_\r\n', 'asking'],
  ['a subscription to nothing', '>1\r\n$9\r\nsubscribe\r\n', 'asking'],
  ['what is no reply at all', 'HTTP/1.1 400 Bad Request\r\n\r\n', 'asking'],
];
/** So that no question that is open takes them all for its answer. */
const TIMES = 20;

describe('a store that answers nonsense', () => {
  let redis: RedisServer;
  let line: StoreLine;
  let gateway: RunningGateway;

  beforeAll(async () => {
    redis = await RedisServer.start();
    line = await StoreLine.to(redis.port);
    gateway = await startGateway({
      upstreams: [{ name: 'engine', url: 'http://127.0.0.1:9', engine: 'vllm' }],
      models: [{ id: 'demo-chat', upstream: 'engine', operations: ['chat'] }],
      server: { replicas: 2 },
      admission: { store: line.url },
      budgets: {
        store: line.url,
        window: '10m',
        default: { requests: 1000, tokens: 1000 },
        tenants: [{ name: 'local', requests: 10, tokens: 10 }],
      },
    });
  }, 60_000);

  afterAll(async () => {
    await gateway.stop();
    await line.stop();
    await redis.stop();
  }, 30_000);

  const isUp = async (): Promise<boolean> =>
    (await gateway.metric('budget_store_up')) === 1 && (await gateway.metric('admission_store_degraded')) === 0;

  it.each(MALFORMED)('is given up at %s (%s), and asked again', async (_, bytes, kind) => {
    await eventually(async () => (await isUp()) && line.of(kind).length > 0);
    const told = line.of(kind);
    line.down = true;
    for (const client of told) client.write(bytes.repeat(TIMES));
    await eventually(() => told.every((client) => client.destroyed));
    if (kind === 'asking') {
      await eventually(async () => (await gateway.metric('budget_store_up')) === 0);
      // Half of its ten, of which this one is gone.
      expect(await leftOf(gateway, 'local')).toMatchObject({ tokens: 5 });
    }
    line.down = false;
    await eventually(async () => (await isUp()) && line.of(kind).length >= told.length);
    expect((await fetch(`${gateway.origin}/healthz`)).status).toBe(200);
    expect(gateway.logs().filter(({ level }) => Number(level) >= 60)).toEqual([]);
  });
});
