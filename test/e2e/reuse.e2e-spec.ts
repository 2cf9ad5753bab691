import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import {
  CHAT_ANSWER,
  chatRequest,
  chunk,
  deltaEvent,
  jsonAnswer,
  STREAM_HEAD,
  streamRequest,
} from '../support/chat-wire.js';
import { EngineWorld, expectProblem } from '../support/engine-world.js';
import { RawConnection, requestBytes, type RequestParts } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';
import type { TcpRequest } from '../support/tcp-engine.js';

const live: RequestParts = { method: 'GET', path: '/healthz' };
// What only Linux can show is not registered elsewhere.
const onLinux: typeof it | ((name: string, run: () => Promise<void>, timeoutMs?: number) => void) =
  process.platform === 'linux' ? it : () => undefined;

/** Connections are used again where that is safe, and a request is sent once. */
describe('connections that are used again', () => {
  let world: EngineWorld;

  beforeAll(async () => {
    world = await EngineWorld.start({
      proxies: [{ prefix: '/plain', upstream: 'engine' }],
      server: { keepAliveTimeout: '75s' },
    });
  }, 60_000);

  afterAll(() => world.stop());

  /** The engine answers, and leaves that connection a moment later. */
  const answerAnd =
    (leave: (request: TcpRequest) => void) =>
    async (request: TcpRequest): Promise<void> => {
      request.socket.write(jsonAnswer());
      await delay(10);
      leave(request);
    };

  it('R1 uses a connection again that stays open', async () => {
    world.engine.play(({ socket }) => socket.write(jsonAnswer()));
    for (let i = 0; i < 5; i++) expect((await world.send(chatRequest())).status).toBe(200);
    expect(new Set(world.engine.requests.map(({ connection }) => connection)).size).toBe(1);
  });

  it.each([
    ['closed', ({ socket }: TcpRequest) => socket.end()],
    ['reset', ({ socket }: TcpRequest) => socket.resetAndDestroy()],
  ])('R1 succeeds at the first try after the engine has %s an idle connection', async (_, leave) => {
    world.engine.play(answerAnd(leave));
    for (let i = 0; i < 15; i++) {
      const answer = await world.send(chatRequest());
      expect([answer.status, answer.text()]).toEqual([200, CHAT_ANSWER]);
      await delay(35);
    }
    expect(world.engine.requests).toHaveLength(15);
  });

  it.each([
    ['timeout=2', 2000],
    ['timeout=1, max=100', 1000],
  ])('R2 lets a connection go before the engine does that announces %s', async (announced, ms) => {
    world.engine.play(({ socket }) => socket.write(jsonAnswer(CHAT_ANSWER, '200 OK', [`keep-alive: ${announced}`])));
    expect((await world.send(chatRequest())).status).toBe(200);
    const answeredAt = performance.now();
    const { left } = await world.engine.request(0);
    expect((await left) - answeredAt).toBeLessThan(ms);
  });

  it('R2 lets a connection go that nothing is announced of, before common servers do', async () => {
    world.engine.play(({ socket }) => socket.write(jsonAnswer()));
    expect((await world.send(chatRequest())).status).toBe(200);
    const answeredAt = performance.now();
    const { left } = await world.engine.request(0);
    // uvicorn and Node close after five seconds.
    expect((await left) - answeredAt).toBeLessThan(5000);
  }, 15_000);

  it.each([
    ['POST', chatRequest()],
    ['GET', { method: 'GET', path: '/plain/x' }],
  ])('R3 R4 repeats no %s that the engine had received when it closed', async (_, request) => {
    for (const leave of ['end', 'resetAndDestroy'] as const) {
      world.engine.play(({ socket, call }) => (call === 0 ? socket.write(jsonAnswer()) : socket[leave]()));
      expect((await world.send(request)).status).toBe(200);
      await delay(20);
      // The second one comes on the connection that is closed at that moment.
      expectProblem(await world.send(request), 502, 'upstream-unreachable');
      expect(world.engine.requests).toHaveLength(2);
      expect(world.engine.requests[0]?.connection).toBe(world.engine.requests[1]?.connection);
    }
  });

  it('R5 sends each request once, and counts it once, however it fails', async () => {
    const counted = async () => (await world.gateway.metric('upstream_requests_total', { upstream: 'engine' })) ?? 0;
    const before = await counted();
    world.engine.play(({ socket, call }) =>
      call % 2 === 0 ? socket.resetAndDestroy() : socket.end(`${STREAM_HEAD}${chunk(deltaEvent('one'))}`),
    );
    const answers = [];
    for (let i = 0; i < 20; i++) answers.push(await world.send(streamRequest()));
    expect(world.engine.requests).toHaveLength(20);
    expect(await counted()).toBe(before + 20);
    expect(answers.filter(({ status }) => status === 502)).toHaveLength(10);
    expect(answers.filter(({ status, text }) => status === 200 && !text().includes('[DONE]'))).toHaveLength(10);
  });

  it('R6 keeps idle connections of the ingress for 75 s', async () => {
    const client = await world.ask(live);
    const answer = await client.response();
    expect(answer.header('keep-alive')).toBe('timeout=75');
    await delay(1500);
    client.send(requestBytes(live));
    expect((await client.response()).status).toBe(200);
    client.destroy();
  });

  it('R6 is what the full example says, too', async () => {
    const example = await readFile(new URL('../../config/gateway.yaml', import.meta.url), 'utf8');
    const seconds = Number(/^ {2}keepAliveTimeout: (\d+)s$/m.exec(example)?.[1]);
    expect(seconds).toBeGreaterThanOrEqual(75);
  });

  it('R6 closes an idle connection at its time, not before', async () => {
    const short = await EngineWorld.start({ server: { keepAliveTimeout: '1s' } });
    try {
      const client = await short.ask(live);
      await client.response();
      const idleFrom = performance.now();
      await client.closed;
      expect(performance.now() - idleFrom).toBeGreaterThan(950);
      expect(performance.now() - idleFrom).toBeLessThan(4000);
    } finally {
      await short.stop();
    }
  });

  onLinux('U18 has TCP ask on both sides whether the other one is still there, within 30 s', async () => {
    world.engine.play(({ socket }) => socket.write(STREAM_HEAD));
    const client = await RawConnection.open(world.gateway.port);
    client.send(requestBytes(streamRequest()));
    const { socket } = await world.engine.request(0);
    const timers = async () => [
      await keepAliveSeconds(world.gateway.port, client.socket.localPort),
      await keepAliveSeconds(socket.remotePort, socket.localPort),
    ];
    // While bytes are under way another timer of the socket runs.
    await eventually(async () => (await timers()).every((seconds) => seconds !== undefined));
    for (const seconds of await timers()) {
      expect(seconds).toBeGreaterThan(0);
      expect(seconds).toBeLessThanOrEqual(30);
    }
    client.destroy();
  });
});

/** Seconds until TCP probes the other side of that connection; undefined while no such timer runs. */
async function keepAliveSeconds(
  localPort: number | undefined,
  remotePort: number | undefined,
): Promise<number | undefined> {
  const hex = (port: number | undefined): string => (port ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const table = await readFile('/proc/net/tcp', 'utf8');
  const row = table
    .split('\n')
    .find((line) => line.includes(`0100007F:${hex(localPort)} 0100007F:${hex(remotePort)} `));
  // proc(5): the active timer (2: keep-alive) and when it is due, in hundredths of a second.
  const [, timer, due] = / ([0-9A-F]{2}):([0-9A-F]{8}) /.exec(row ?? '') ?? [];
  return timer === '02' && due !== undefined ? parseInt(due, 16) / 100 : undefined;
}
