import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { chatRequest, jsonAnswer, streamRequest } from '../support/chat-wire.js';
import { EngineWorld, expectProblem, type EngineWorldOptions } from '../support/engine-world.js';
import { openFiles, probe, PROBED } from '../support/gateway-probe.js';
import { bestOf } from '../support/measure.js';
import { RawConnection, requestBytes, type RequestParts } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';

const MIB = 1024 * 1024;
const BLOCKED_MS = 50;
const live: RequestParts = { method: 'GET', path: '/healthz' };
// What only Linux can show is not registered elsewhere.
const onLinux: typeof it | ((name: string, run: () => Promise<void>, timeoutMs?: number) => void) =
  process.platform === 'linux' ? it : () => undefined;

/** What there is of memory, processors, places and descriptors is shared out, and nothing takes more than its share. */
describe('capacity', () => {
  let world: EngineWorld;

  afterEach(() => world.stop());

  const start = async (options: EngineWorldOptions, how: Parameters<typeof EngineWorld.start>[1] = { env: PROBED }) => {
    world = await EngineWorld.start(options, how);
    world.engine.play(({ socket }) => socket.write(jsonAnswer()));
  };

  it.each([
    ['declared', { 'content-length': '700000' }, Buffer.alloc(0)],
    ['in chunks', { 'transfer-encoding': 'chunked' }, Buffer.from(`aae60\r\n${' '.repeat(700_000)}\r\n`)],
  ])('L1 holds no more of bodies than the memory for them, a body %s included', async (_, framing, more) => {
    await start({ server: { bodyMemory: '1MiB' } });
    const bytes = requestBytes(chatRequest({ filler: 'x'.repeat(700_000) }));
    const first = await RawConnection.open(world.gateway.port);
    await new Promise<void>((resolve) => first.socket.write(bytes.subarray(0, -1), () => resolve()));
    await delay(50);
    const second = await RawConnection.open(world.gateway.port);
    second.send(
      requestBytes({
        method: 'POST',
        path: '/v1/chat/completions',
        headers: { 'content-type': 'application/json', ...framing },
      }),
    );
    second.send(more);
    const refusal = await second.response();
    expectProblem(refusal, 503, 'memory-exhausted');
    expect(refusal.header('retry-after')).toMatch(/^\d+$/);
    await second.closed;
    expect((await world.send(chatRequest())).status).toBe(200);
    first.send(bytes.subarray(-1));
    expect((await first.response()).status).toBe(200);
    expect((await world.send(chatRequest({ filler: 'x'.repeat(700_000) }))).status).toBe(200);
    first.destroy();
  });

  onLinux(
    'L2 takes bodies of 100 MB, several at once, within 400 MB',
    async () => {
      await start({
        server: { bodyMemory: '128MiB', bodyTimeout: '15s' },
        proxies: [{ prefix: '/files', upstream: 'engine', more: { maxBody: '110MiB' } }],
      });
      const upload: RequestParts = { method: 'POST', path: '/files/up', body: Buffer.alloc(100_000_000, 'x') };
      const answers = await Promise.all(Array.from({ length: 4 }, () => world.send(upload)));
      const statuses = answers.map(({ status }) => status).sort();
      expect(statuses[0]).toBe(200);
      expect(new Set([200, 503, ...statuses]).size).toBe(2);
      expect((await world.send(upload)).status).toBe(200);
      expect(world.engine.requests.at(-1)?.body.length).toBe(100_000_000);
      const status = await readFile(`/proc/${String(world.gateway.pid)}/status`, 'utf8');
      const peakKib = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]);
      expect(peakKib / 1024).toBeLessThan(400);
    },
    15_000,
  );

  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  const chatWith = (members: string): RequestParts => ({
    ...chatRequest(),
    body: `{"model":"demo-chat","messages":[{"role":"user","content":"hi"}],${members}}`,
  });
  const HEAVY: readonly (readonly [string, RequestParts | Buffer, number])[] = [
    ['a megabyte of prompt', chatRequest({ filler: 'x'.repeat(1_000_000) }), 200],
    [
      '20,000 messages',
      chatRequest({ messages: Array.from({ length: 20_000 }, () => ({ role: 'user', content: 'hi' })) }),
      200,
    ],
    ['60,000 members', chatWith(Array.from({ length: 60_000 }, (_, at) => `"m${String(at)}":1`).join(',')), 200],
    ['a number of 300,000 digits', chatWith(`"n":${'9'.repeat(300_000)}`), 200],
    ['escapes alone', chatWith(`"e":"${'\\u0041'.repeat(160_000)}"`), 200],
    ['deep nesting', chatWith(`"d":${nested(400)}`), 200],
    ['deeper nesting, unclosed', chatWith(`"d":${'['.repeat(500_000)}`), 400],
    ['a body in 500,000 chunks of a byte', byteChunks(500_000), 400],
    ['a body in 3,000 chunks of a byte', byteChunks(3000), 200],
  ];

  it.each(HEAVY)(
    'L3 stands still for less than 50 ms over %s, and keeps nothing of it',
    async (_, request, expected) => {
      await start({});
      const once = async (): Promise<number> => {
        const client = await RawConnection.open(world.gateway.port);
        client.send(Buffer.isBuffer(request) ? request : requestBytes(request));
        const { status } = await client.response();
        // Refused or served, but never the gateway's own failure.
        expect(status === expected || status === 400).toBe(true);
        client.destroy();
        return (await probe(world.gateway)).blockedMs;
      };
      for (let i = 0; i < 2; i++) await once();
      const before = await probe(world.gateway);
      expect(await bestOf(5, BLOCKED_MS, once)).toBeLessThan(BLOCKED_MS);
      const after = await probe(world.gateway);
      expect(after.heldBytes - before.heldBytes).toBeLessThan(2 * MIB);
      expect(after.rssBytes).toBeLessThan(250 * MIB);
    },
    15_000,
  );

  it('L4 grows no table with what clients make up', async () => {
    await start({});
    const madeUp = async (at: number): Promise<void> => {
      const name = `made-up-${String(at)}`;
      const chat = chatRequest({ user: name });
      const fields = {
        ...chat.headers,
        'x-llmgw-session': name,
        'x-llmgw-band': name,
        'x-request-id': name,
        'user-agent': name,
      };
      expect((await world.send({ ...chat, headers: fields })).status).toBe(200);
      expect((await world.send(chatRequest({ model: name }))).status).toBe(400);
      expect((await world.send({ method: 'GET', path: `/${name}?${name}` })).status).toBe(404);
      expect((await world.send({ method: 'GET', path: `/v1/models/${name}` })).status).toBe(404);
    };
    const named = async (): Promise<number> => (await world.gateway.metrics()).split('made-up').length;
    // Until the operator's page has its 2000 requests, which are kept whoever made them.
    for (let at = 0; at < 500; at++) await madeUp(at);
    const before = { named: await named(), held: (await probe(world.gateway)).heldBytes };
    for (let at = 500; at < 850; at++) await madeUp(at);
    expect(await named()).toBe(before.named);
    expect((await probe(world.gateway)).heldBytes - before.held).toBeLessThan(2 * MIB);
  }, 15_000);

  const ONE_SLOT: EngineWorldOptions = {
    upstream: { slots: { limit: 1, perEndpoint: 1 } },
    admission: { bands: [{ name: 'gold', ceiling: 1, capacity: 2, ttl: '3s' }] },
  };

  it('L5 turns those away at once for whom there is neither a slot nor a place in the queue, for under 1 ms each', async () => {
    await start(ONE_SLOT);
    world.engine.play(() => undefined);
    const clients = [];
    for (let i = 0; i < 3; i++) clients.push(await world.ask(chatRequest()));
    await eventually(async () => (await world.queued()) === 2);
    const askedAt = performance.now();
    const refusal = await world.send(streamRequest());
    expect(performance.now() - askedAt).toBeLessThan(250);
    expectProblem(refusal, 503, 'queue-full');
    expect(refusal.header('retry-after')).toBe('1');
    const bytes = requestBytes(chatRequest());
    const cost = async (): Promise<number> => {
      const client = await RawConnection.open(world.gateway.port);
      const before = await probe(world.gateway);
      for (let i = 0; i < 300; i++) {
        client.send(bytes);
        expect((await client.response()).status).toBe(503);
      }
      const after = await probe(world.gateway);
      client.destroy();
      return (after.cpuMs - before.cpuMs) / 300;
    };
    // The first round warms the code up.
    await cost();
    clients.forEach((client) => client.destroy());
    for (let i = 0; i < 3; i++) clients.push(await world.ask(chatRequest()));
    await eventually(async () => (await world.queued()) === 2);
    expect(await bestOf(2, 1, cost)).toBeLessThan(1);
    clients.forEach((client) => client.destroy());
    expect(world.engine.requests.length).toBeLessThan(10);
  }, 15_000);

  it("L6 lets nobody wait longer than its band's time", async () => {
    await start({ ...ONE_SLOT, admission: { bands: [{ name: 'gold', ceiling: 1, capacity: 2, ttl: '600ms' }] } });
    world.engine.play(() => undefined);
    const holder = await world.ask(chatRequest());
    await world.engine.request(0);
    const askedAt = performance.now();
    expectProblem(await world.send(chatRequest()), 504, 'queue-timeout');
    expect(performance.now() - askedAt).toBeGreaterThan(550);
    expect(performance.now() - askedAt).toBeLessThan(2000);
    expect(world.engine.requests).toHaveLength(1);
    holder.destroy();
  });

  onLinux('L7 answers 503 while there is no descriptor left for the engine, and recovers', async () => {
    await start({});
    const client = await RawConnection.open(world.gateway.port);
    client.send(requestBytes(live));
    await client.response();
    await limitFiles((await openFiles(world.gateway)) ?? 0);
    client.send(requestBytes(chatRequest()));
    const refusal = await client.response();
    expectProblem(refusal, 503);
    expect(refusal.header('retry-after')).toMatch(/^\d+$/);
    expect(world.engine.requests).toHaveLength(0);
    await limitFiles(4096);
    client.send(requestBytes(chatRequest()));
    expect((await client.response()).status).toBe(200);
    client.destroy();
  });

  onLinux('L7 survives more clients than it has descriptors for, and recovers', async () => {
    await start({});
    await limitFiles(((await openFiles(world.gateway)) ?? 0) + 10);
    const crowd = await Promise.all(Array.from({ length: 60 }, () => RawConnection.open(world.gateway.port)));
    await delay(200);
    crowd.forEach((each) => each.destroy());
    await delay(100);
    await world.expectNextServed();
  });

  it('L7 keeps to the connections it may have', async () => {
    await start({ server: { maxConnections: 3 } });
    const crowd = await Promise.all(Array.from({ length: 3 }, () => world.ask(live)));
    for (const each of crowd) expect((await each.response()).status).toBe(200);
    const late = await world.ask(live);
    await late.closed;
    crowd[0]?.destroy();
    await eventually(
      async () =>
        (await world.send(live).then(
          ({ status }) => status,
          () => 0,
        )) === 200,
    );
    crowd.forEach((each) => each.destroy());
  });

  /** The soft limit alone, so that it can be lifted again. */
  const limitFiles = (count: number) =>
    promisify(execFile)('prlimit', ['--pid', String(world.gateway.pid), `--nofile=${String(count)}:`]);
});

/** A chat request whose body comes in chunks of one byte. */
function byteChunks(size: number): Buffer {
  const body = `{"model":"demo-chat","messages":[{"role":"user","content":"${'x'.repeat(size)}"}]}`;
  const head = requestBytes({
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
  });
  return Buffer.concat([head, Buffer.from(`1\r\n${[...body].join('\r\n1\r\n')}\r\n0\r\n\r\n`)]);
}
