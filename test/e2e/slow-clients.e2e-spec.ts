import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import {
  CHAT_ANSWER,
  chatRequest,
  chunk,
  deltaEvent,
  DONE_EVENT,
  FINISH_EVENT,
  jsonAnswer,
  LAST_CHUNK,
  STREAM_HEAD,
  streamRequest,
} from '../support/chat-wire.js';
import { EngineWorld, expectProblem } from '../support/engine-world.js';
import { probe, PROBED } from '../support/gateway-probe.js';
import { bestOf } from '../support/measure.js';
import { RawConnection, requestBytes, type RequestParts } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';
import { pour } from '../support/tcp-engine.js';

const MIB = 1024 * 1024;
const HEADERS_MS = 2000;
const BODY_MS = 2500;
const CUT_LATE_MS = 2000;
const WRITE_MS = 1500;
const live: RequestParts = { method: 'GET', path: '/healthz' };
const download = (mebibytes: number): RequestParts => ({ method: 'GET', path: `/files/${String(mebibytes)}` });

/** Whoever is slow costs itself its connection, and nobody else anything. */
describe('clients that are slow', () => {
  let world: EngineWorld;

  beforeAll(async () => {
    const timeouts = { connect: '2s', read: '10s', write: `${String(WRITE_MS)}ms` };
    world = await EngineWorld.start(
      {
        upstream: { engine: 'ollama' },
        models: [
          { id: 'demo-embed', upstream: 'engine', operations: ['embeddings'] },
          ...Array.from({ length: 1500 }, (_, at) => ({
            id: `model-${String(at)}-${'x'.repeat(200)}`,
            upstream: 'engine',
            operations: ['chat' as const],
          })),
        ],
        proxies: [
          { prefix: '/files', upstream: 'engine' },
          { prefix: '/hasty', upstream: 'engine', more: { timeouts } },
        ],
        operations: { embeddings: { timeouts } },
        server: {
          headersTimeout: `${String(HEADERS_MS)}ms`,
          bodyTimeout: `${String(BODY_MS)}ms`,
          keepAliveTimeout: '20s',
        },
      },
      { env: PROBED },
    );
  }, 60_000);

  afterAll(() => world.stop());

  afterEach(() => world.slotsFree());

  /** Others notice nothing: a look at the gateway's life within 250 ms, and an ordinary call that succeeds. */
  async function expectOthersUnaffected(): Promise<void> {
    const look = async (): Promise<number> => {
      const askedAt = performance.now();
      expect((await world.send(live)).status).toBe(200);
      return performance.now() - askedAt;
    };
    expect(await bestOf(3, 250, look)).toBeLessThan(250);
    expect((await world.send(chatRequest())).status).toBe(200);
  }

  it('C6 cuts 600 connections that say nothing or drip, which hold no slot and little memory', async () => {
    world.engine.play(({ socket }) => socket.write(jsonAnswer()));
    await expectOthersUnaffected();
    const before = await probe(world.gateway);
    const head = requestBytes({
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { 'content-type': 'application/json', 'content-length': '1000' },
    });
    const opened = await Promise.all(
      Array.from({ length: 600 }, async (_, at) => {
        const connection = await RawConnection.open(world.gateway.port);
        if (at % 3 === 1) connection.send('POST /v1/chat/compl');
        if (at % 3 === 2) connection.send(head);
        return connection;
      }),
    );
    const openedAt = performance.now();
    const drip = setInterval(
      () => opened.forEach(({ socket }, at) => at % 3 > 0 && socket.writable && socket.write('x')),
      500,
    );
    const answers = opened.map(async (connection, at) => (at % 3 > 0 ? (await connection.response()).status : 0));
    await delay(1000);
    const asked = world.engine.requests.length;
    expect(await world.inUse()).toBe(0);
    await expectOthersUnaffected();
    const during = await probe(world.gateway);
    expect((await Promise.all(answers)).filter((status) => status !== 0 && status !== 408)).toEqual([]);
    await Promise.all(opened.map(({ closed }) => closed));
    clearInterval(drip);
    expect(performance.now() - openedAt).toBeLessThan(Math.max(HEADERS_MS, BODY_MS) + CUT_LATE_MS);
    expect(during.rssBytes - before.rssBytes).toBeLessThan(60 * MIB);
    // Only those that look how it goes have reached the engine.
    expect(world.engine.requests).toHaveLength(asked + 1);
    opened.forEach((connection) => connection.destroy());
  }, 15_000);

  it('C6 tells a client that drips its body what was wrong', async () => {
    world.engine.play(() => undefined);
    const connection = await RawConnection.open(world.gateway.port);
    connection.send(requestBytes(chatRequest()).subarray(0, -1));
    expectProblem(await connection.response(), 408, 'body-timeout');
    await connection.closed;
    expect(world.engine.requests).toHaveLength(0);
  });

  it('C7 stalls the upstream of a client that does not read, within bounds, and loses no byte', async () => {
    const size = 100 * MIB;
    const poured: (() => number)[] = [];
    world.engine.play(({ socket }) => {
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\ncontent-length: ${String(size)}\r\n\r\n`,
      );
      poured.push(pour(socket, size));
    });
    const before = await probe(world.gateway);
    const clients = await Promise.all(Array.from({ length: 6 }, () => deafClient(download(100))));
    await eventually(() => poured.length === 6);
    // Stalled: nothing more is taken, for a while.
    const total = () => poured.reduce((sum, taken) => sum + taken(), 0);
    let last = -1;
    while (last !== total()) {
      last = total();
      await delay(300);
    }
    poured.forEach((taken) => expect(taken()).toBeLessThan(24 * MIB));
    const during = await probe(world.gateway);
    expect(during.rssBytes - before.rssBytes).toBeLessThan(80 * MIB);
    expect((await world.send(live)).status).toBe(200);
    clients.slice(1).forEach((socket) => socket.destroy());
    const [first] = clients;
    if (first === undefined) throw new Error('no client');
    expect(await readCounting(first, size)).toBe(true);
  }, 15_000);

  it.each([
    ['in the middle of its answer', { ...download(50), path: '/hasty/50' }, 50 * MIB],
    [
      'when all of it has come from the engine',
      {
        method: 'POST',
        path: '/v1/embeddings',
        headers: { 'content-type': 'application/json' },
        body: '{"model":"demo-embed","input":"x"}',
      },
      12 * MIB,
    ],
  ])(
    'C7 cuts a client that reads nothing for the configured time, %s',
    async (_, request, size) => {
      const vectors = (): string =>
        `{"object":"list","model":"demo-embed","data":[{"object":"embedding","index":0,"embedding":[${'0.5,'.repeat(size / 4)}0.5]}]}`;
      world.engine.play(({ socket }) => {
        if (request.method === 'POST') return socket.write(jsonAnswer(vectors()));
        socket.write(
          `HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\ncontent-length: ${String(size)}\r\n\r\n`,
        );
        return pour(socket, size);
      });
      const id = `deaf-${String(size)}`;
      const client = await deafClient({ ...request, headers: { ...request.headers, 'x-request-id': id } });
      await world.engine.request(0);
      const askedAt = performance.now();
      await world.slotsFree();
      // The system tells of the end only to those who read; the gateway says when its side of it was over.
      await eventually(() => world.gateway.logs().some(({ request_id }) => request_id === id));
      expect(performance.now() - askedAt).toBeGreaterThan(WRITE_MS - 500);
      expect(performance.now() - askedAt).toBeLessThan(WRITE_MS + 3500);
      expect(await readCounting(client, size)).toBe(false);
    },
    15_000,
  );

  it("C7 cuts a client that takes none of the gateway's own answers", async () => {
    const list: RequestParts = { method: 'GET', path: '/v1/models' };
    const size = (await world.send(list)).body.length;
    // Fifty lists are more than the system holds for somebody who does not read.
    const client = await deafClient(list);
    client.write(Buffer.concat(Array.from({ length: 49 }, () => requestBytes(list))));
    await delay(2 * BODY_MS + 1000);
    expect(await readCounting(client, 50 * size)).toBe(false);
  }, 15_000);

  it('C12 cuts a client that sends requests ahead without end', async () => {
    const client = await deafClient(live);
    const closed = new Promise((resolve) => client.once('close', resolve));
    client.write(Buffer.concat(Array.from({ length: 2000 }, () => requestBytes(live))));
    await closed;
    await expectOthersUnaffected();
  });

  it('C12 answers pipelined requests in order, each with its own answer', async () => {
    world.engine.play(async ({ socket, body }) => {
      const user = /"user":"(\w+)"/.exec(body.toString())?.[1] ?? '';
      // The later ones would be ready first.
      await delay(user === 'first' ? 150 : user === 'second' ? 50 : 0);
      if (user === 'second')
        socket.write(STREAM_HEAD + [deltaEvent(user), FINISH_EVENT, DONE_EVENT].map(chunk).join('') + LAST_CHUNK);
      else socket.write(jsonAnswer(CHAT_ANSWER.replace('hello', user)));
    });
    const requests = [
      chatRequest({ user: 'first' }),
      streamRequest({ user: 'second' }),
      live,
      chatRequest({ model: 'no-such-model' }),
      { method: 'GET', path: '/nowhere' },
      chatRequest({ user: 'third' }),
    ];
    const client = await RawConnection.open(world.gateway.port);
    client.send(Buffer.concat(requests.map(requestBytes)));
    const answers = [];
    for (const _ of requests) answers.push(await client.response());
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 400, 404, 200]);
    expect(answers[0]?.text()).toBe(CHAT_ANSWER.replace('hello', 'first'));
    expect(answers[1]?.text()).toBe(deltaEvent('second') + FINISH_EVENT + DONE_EVENT);
    expect(answers[5]?.text()).toBe(CHAT_ANSWER.replace('hello', 'third'));
    expect(new Set(answers.map((answer) => answer.header('x-request-id'))).size).toBe(requests.length);
    client.destroy();
  });

  /** A client that has asked and reads nothing. */
  async function deafClient(request: RequestParts): Promise<Socket> {
    const socket = connect({ port: world.gateway.port, host: '127.0.0.1' });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.pause();
    socket.write(requestBytes(request));
    return socket;
  }
});

/** Reads on; whether so many bytes of a body have come before the end. */
async function readCounting(socket: Socket, size: number): Promise<boolean> {
  let bytes = 0;
  const enough = new Promise<boolean>((resolve) => {
    socket.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (bytes > size) resolve(true);
    });
    socket.once('close', () => resolve(false));
  });
  socket.resume();
  const isWhole = await enough;
  socket.destroy();
  return isWhole;
}
