import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { buildConnector, type Dispatcher } from 'undici';
import { FakeClock } from '../../../test/support/fake-clock.js';
import { failJob, openEnginePool, type EnginePool } from './engine-pool-client.js';

const LIMITS = { connections: 4, lifeMs: 30_000 };

let clock: FakeClock;
let server: Server | undefined;
let opened: Socket[];
let pool: EnginePool;

async function start(answer: RequestListener): Promise<void> {
  opened = [];
  server = createServer(answer).listen(0, '127.0.0.1');
  server.on('connection', (socket) => opened.push(socket));
  await once(server, 'listening');
  poolTo((server.address() as AddressInfo).port);
}

function poolTo(port: number): void {
  clock = new FakeClock();
  pool = openEnginePool(`http://127.0.0.1:${port}`, LIMITS, clock, {
    allowH2: false,
    // In real time: a connection that idles so long is closed, whatever it has still to write.
    keepAliveTimeout: 60_000,
    connect: buildConnector({ allowH2: false, timeout: 1000 }),
  });
}

afterEach(async () => {
  const reason = new Error('the test is over');
  await pool.end(reason, failJob(reason));
  server?.closeAllConnections();
  server?.close();
});

interface Asked {
  readonly path?: string;
  readonly headers?: string[];
  readonly body?: Buffer;
  /** Breaks the request off when it is sent, or with the first bytes of its answer. */
  readonly abort?: 'sent' | 'answered';
}

/** Settles with the body of the answer, or `failed: …`. */
const ask = ({ path = '/', headers = [], body, abort }: Asked = {}): Promise<string> =>
  new Promise((resolve) => {
    const parts: Buffer[] = [];
    const left = (controller: Dispatcher.DispatchController): void => controller.abort(new Error('left'));
    pool.carry({
      path,
      method: body === undefined ? 'GET' : 'POST',
      headers,
      body: body ?? null,
      spent: body,
      handler: {
        onRequestStart: (controller) => abort === 'sent' && left(controller),
        onResponseStart: () => undefined,
        onResponseData: (controller, part) => {
          parts.push(part);
          if (abort === 'answered') left(controller);
        },
        onResponseEnd: () => resolve(String(Buffer.concat(parts))),
        onResponseError: (_, error) => resolve(`failed: ${error.message}`),
      },
    });
  });

/** Until undici has taken note of what the last answers were. */
async function quiet(): Promise<void> {
  for (let i = 0; i < 20; i++) await nextTurn();
}

const several = (count: number, what?: Asked): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, () => ask(what)));

it('uses one connection for one after the other, and no more than it may for many', async () => {
  await start((request, response) => response.end(request.url));
  for (let i = 0; i < 5; i++) {
    expect(await ask({ path: `/${i}` })).toBe(`/${i}`);
    await quiet();
  }
  expect(opened).toHaveLength(1);
  expect(new Set(await several(20))).toEqual(new Set(['/']));
  expect(opened).toHaveLength(LIMITS.connections);
});

it('sends what waits in the order in which it came', async () => {
  const seen: string[] = [];
  await start((request, response) => {
    seen.push(request.url ?? '');
    setTimeout(() => response.end(), 5);
  });
  await Promise.all(Array.from({ length: 40 }, (_, at) => ask({ path: `/${at}` })));
  expect(seen.slice(LIMITS.connections)).toEqual(Array.from({ length: 36 }, (_, at) => `/${at + 4}`));
});

it('opens another connection in place of one that is too old', async () => {
  await start((_, response) => response.end('yes'));
  await ask();
  await quiet();
  const [first] = opened;
  const closed = first && once(first, 'close');
  clock.advance(LIMITS.lifeMs + 1);
  expect(await ask()).toBe('yes');
  expect(opened).toHaveLength(2);
  await closed;
});

it.each([
  ['that are answered', 'yes', {}],
  ['that are broken off as they are sent', 'failed: left', { abort: 'sent' }],
  ['that are broken off while they are answered', 'failed: left', { abort: 'answered' }],
  ['whose answer ends the connection', 'yes', { path: '/close' }],
  ['whose answer is cut', 'failed: other side closed', { path: '/cut' }],
  ['that the engine resets', 'failed: read ECONNRESET', { path: '/reset' }],
  ['that cannot be sent', 'failed: invalid a header', { headers: ['a', 'b\r\nc: d'] }],
] as [string, string, Asked][])('has room again after requests %s', async (_, outcome, what) => {
  await start(play);
  for (let i = 0; i < 3; i++) expect(new Set(await several(11, what))).toEqual(new Set([outcome]));
  expect(new Set(await several(11))).toEqual(new Set(['yes']));
});

const play: RequestListener = ({ url, socket }, response) => {
  if (url === '/reset') socket.resetAndDestroy();
  else if (url === '/cut') {
    response.writeHead(200, { 'content-length': 9 });
    response.write('half');
    setImmediate(() => socket.end());
  } else response.writeHead(200, url === '/close' ? { connection: 'close' } : {}).end('yes');
};

it('has room again after refused connections', async () => {
  await start(play);
  const free = createServer().listen(0, '127.0.0.1');
  await once(free, 'listening');
  const { port } = free.address() as AddressInfo;
  await new Promise((resolve) => free.close(resolve));
  poolTo(port);
  for (let i = 0; i < 3; i++)
    for (const answer of await several(11)) expect(answer).toMatch(/^failed: connect ECONNREFUSED/);
  await quiet();
  expect(pool.unused).toBe(true);
});

it('goes on when the engine has closed idle connections', async () => {
  await start(play);
  await several(4);
  await quiet();
  for (const socket of opened.splice(0)) socket.end();
  for (let i = 0; i < 5; i++) expect(await ask()).toBe('yes');
  await quiet();
  for (const socket of opened) socket.resetAndDestroy();
  await quiet();
  expect(new Set(await several(11))).toEqual(new Set(['yes']));
});

it('keeps nothing after 3,000 requests that end in all ways', async () => {
  await start(play);
  const kinds: Asked[] = [{}, {}, { abort: 'sent' }, { path: '/close' }, { path: '/cut' }, { headers: ['a', '\n'] }];
  for (let round = 0; round < 30; round++) {
    const answers = await Promise.all(Array.from({ length: 100 }, (_, at) => ask(kinds[(at + round) % kinds.length])));
    expect(answers.filter((answer) => answer === 'yes').length).toBeGreaterThanOrEqual(49);
  }
  expect(await ask()).toBe('yes');
  await quiet();
  for (const socket of opened) socket.end();
  for (let i = 0; i < 100 && !pool.unused; i++) await quiet();
  expect(pool.unused).toBe(true);
}, 30_000);

it('fails what runs and what waits when it ends', async () => {
  await start(() => undefined);
  const asked = several(7);
  await quiet();
  const reason = new Error('the end');
  await pool.end(reason, failJob(reason));
  expect(new Set(await asked)).toEqual(new Set(['failed: the end']));
});

describe('the memory of a body', () => {
  const MIB = 1024 * 1024;
  const BODY = Buffer.alloc(8 * MIB, 'The quick brown fox. ');
  const send = (body: Buffer): Promise<string> => ask({ body });
  /** So that memory which was given back has other content soon. */
  const overwrite = (): Buffer[] => Array.from({ length: 20 }, () => Buffer.alloc(8 * MIB, 'x'));

  it('is given back when the request has been written and answered', async () => {
    const seen: number[] = [];
    await start((request, response) => {
      request.on('data', (part: Buffer) => seen.push(part.length)).on('end', () => response.end('yes'));
    });
    const body = Buffer.from(BODY);
    expect(await send(body)).toBe('yes');
    await quiet();
    expect(body).toHaveLength(0);
    expect(seen.reduce((sum, bytes) => sum + bytes, 0)).toBe(BODY.length);
  });

  it('is kept while an engine that has answered has not read all of it', async () => {
    const engine = createTcpServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
    await once(engine, 'listening');
    poolTo((engine.address() as AddressInfo).port);
    const accepted = once(engine, 'connection') as Promise<[Socket]>;
    const body = Buffer.from(BODY);
    const asked = send(body);
    const [socket] = await accepted;
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nearly');
    expect(await asked).toBe('early');
    await quiet();
    expect(body).toHaveLength(BODY.length);
    expect(overwrite()).toHaveLength(20);
    const parts: Buffer[] = [];
    let missing = BODY.length;
    for await (const part of socket as AsyncIterable<Buffer>) {
      if (parts.length === 0) missing += part.indexOf('\r\n\r\n') + 4;
      parts.push(part);
      missing -= part.length;
      if (missing === 0) break;
    }
    expect(Buffer.concat(parts).subarray(-BODY.length).equals(BODY)).toBe(true);
    socket.destroy();
    engine.close();
  });

  it.each([
    ['is broken off', { abort: 'sent' }],
    ['is reset', { path: '/reset' }],
    ['is cut', { path: '/cut' }],
  ] as [string, Asked][])('is left to the garbage collector where the request %s', async (_, what) => {
    await start(play);
    const body = Buffer.from(BODY);
    expect(await ask({ ...what, body })).toMatch(/^failed/);
    await quiet();
    expect(body).toHaveLength(BODY.length);
  });
});
