import { once } from 'node:events';
import { createServer, request, type Server, type ServerResponse } from 'node:http';
import { createServer as createSocketServer, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { CHAT_ANSWER, deltaEvent, DONE_EVENT, FINISH_EVENT } from '../support/chat-wire.js';
import { accepts, Nginx } from '../support/nginx.js';
import { eventually } from '../support/socket-world.js';
import { startGateway, type RunningGateway } from '../support/start-gateway.js';

// Seven processes on a machine that may have others to run.
import.meta.jest.setTimeout(60_000);

const GATEWAYS = 3;
/** Of one gateway. */
const SLOTS = 17;
const PARKED = 20;
const STREAMS = GATEWAYS * SLOTS + PARKED;
const TOKEN_EVERY_MS = 100;
const CALLERS = 4;
const ASK_EVERY_MS = 20;

/** An engine whose streams go on, one numbered token after the other, until it is told that they may end. */
class HeldEngine {
  running = 0;
  #released = false;

  private constructor(private readonly server: Server) {
    server.on('request', (incoming, response) => {
      void text(incoming).then((body) => {
        if (body.includes('"stream":true')) this.#stream(response);
        else response.setHeader('content-type', 'application/json').end(CHAT_ANSWER);
      });
    });
  }

  static async start(): Promise<HeldEngine> {
    const server = createServer({ keepAliveTimeout: 75_000 }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new HeldEngine(server);
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.server.address() as AddressInfo).port)}`;
  }

  /** Every stream ends with its next token, and so do those that come from now on. */
  release(): void {
    this.#released = true;
  }

  async stop(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  #stream(response: ServerResponse): void {
    this.running++;
    response.setHeader('content-type', 'text/event-stream');
    let token = 0;
    const timer = setInterval(() => {
      response.write(deltaEvent(`token ${String(token++)};`));
      if (this.#released) response.end(FINISH_EVENT + DONE_EVENT);
    }, TOKEN_EVERY_MS);
    response.once('close', () => {
      this.running--;
      clearInterval(timer);
    });
  }
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

interface Call {
  /** The head has come. */
  started: boolean;
  readonly answer: Promise<Answer>;
}

/** One request by nginx; the answer rejects where it is cut. */
function call(port: number, members: object): Call {
  const headers = { 'content-type': 'application/json' };
  const path = '/v1/chat/completions';
  const outgoing = request({ port, host: '127.0.0.1', method: 'POST', path, headers, agent: false });
  const made: Call = {
    started: false,
    answer: once(outgoing, 'response').then(async ([response]) => {
      made.started = true;
      return { status: response.statusCode, body: await text(response) };
    }),
  };
  outgoing.end(JSON.stringify({ messages: [{ role: 'user', content: 'go on' }], ...members }));
  return made;
}

/** Every token in its order, and the end. */
function isWhole({ status, body }: Answer): boolean {
  const tokens = [...body.matchAll(/token (\d+);/g)].map(([, number]) => Number(number));
  return (
    status === 200 &&
    tokens.length > 0 &&
    tokens.every((token, at) => token === at) &&
    body.endsWith(FINISH_EVENT + DONE_EVENT)
  );
}

/** Callers that ask for short answers, one after the other, for as long as it lasts. */
class Traffic {
  readonly answers: Answer[] = [];
  readonly broken: unknown[] = [];
  #stopped = false;
  readonly #loops: Promise<unknown>;

  constructor(port: number) {
    this.#loops = Promise.all(Array.from({ length: CALLERS }, () => this.#ask(port)));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#loops;
  }

  async #ask(port: number): Promise<void> {
    while (!this.#stopped) {
      await call(port, { model: 'short-chat' }).answer.then(
        (answer) => this.answers.push(answer),
        (error: unknown) => this.broken.push(error),
      );
      await delay(ASK_EVERY_MS);
    }
  }
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createSocketServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

const startAt = (port: number, engine: HeldEngine): Promise<RunningGateway> => {
  const bands = [{ name: 'gold', ceiling: 1, capacity: 128, ttl: '60s' }];
  return startGateway({
    server: { listen: `127.0.0.1:${String(port)}`, drainDelay: '2s', drainTimeout: '40s', keepAliveTimeout: '75s' },
    admission: { heartbeat: '200ms', bands },
    upstreams: [
      { name: 'long', url: engine.url, engine: 'openai', slots: { limit: SLOTS, perEndpoint: SLOTS } },
      { name: 'short', url: engine.url, engine: 'openai' },
    ],
    models: [
      { id: 'demo-chat', upstream: 'long', operations: ['chat'] },
      { id: 'short-chat', upstream: 'short', operations: ['chat'] },
    ],
  });
};

/** As a rollout does it: the new one serves, the old one is told to end, and the load balancer hears of both meanwhile. */
it(`restarts ${String(GATEWAYS)} gateways behind nginx under ${String(STREAMS)} streams, and cuts none`, async () => {
  const engine = await HeldEngine.start();
  const [front = 0, ...ports] = await freePorts(1 + 2 * GATEWAYS);
  const old = await Promise.all(ports.slice(0, GATEWAYS).map((port) => startAt(port, engine)));
  const fresh: RunningGateway[] = [];
  const nginx = await Nginx.start(front, ports.slice(0, GATEWAYS));
  const total = async (series: string, gateways = old): Promise<number> => {
    const values = await Promise.all(gateways.map((gateway) => gateway.metric(series, { upstream: 'long' })));
    return values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
  };
  try {
    const streams = Array.from({ length: STREAMS }, () => call(front, { model: 'demo-chat', stream: true }));
    const ended = Promise.all(streams.map(({ answer }) => answer));
    await eventually(async () => (await total('admission_queue_depth')) === PARKED);
    // The parked ones have had a heartbeat: what has been sent nothing yet may be turned away.
    await eventually(() => streams.every(({ started }) => started));
    expect(engine.running).toBe(STREAMS - PARKED);
    const traffic = new Traffic(front);

    for (const [at, gateway] of old.entries()) {
      fresh.push(await startAt(ports[GATEWAYS + at] ?? 0, engine));
      expect(await total('slots_in_use', [gateway])).toBe(SLOTS);
      gateway.kill('SIGTERM');
      await nginx.route(ports.slice(at + 1, at + 1 + GATEWAYS));
    }
    await eventually(async () => !(await Promise.all(old.map(({ port }) => accepts(port)))).includes(true));
    const during = traffic.answers.length;
    await eventually(() => traffic.answers.length > during + CALLERS);
    expect(engine.running).toBe(STREAMS - PARKED);
    engine.release();

    const answers = await ended;
    await traffic.stop();
    expect(answers.filter((answer) => !isWhole(answer))).toEqual([]);
    expect([traffic.broken, nginx.errors()]).toEqual([[], []]);
    expect(traffic.answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(during).toBeGreaterThan(0);
    const exits = await Promise.all(old.map((gateway) => gateway.exit()));
    expect(exits).toEqual(old.map(() => ({ code: 0, signal: null })));
  } finally {
    await Promise.all([...old, ...fresh].map((gateway) => gateway.stop('SIGKILL')));
    await nginx.stop();
    await engine.stop();
  }
});
