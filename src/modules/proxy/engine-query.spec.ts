import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FakeClock } from '../../../test/support/fake-clock.js';
import type { TimeoutsConfig } from '../../common/config/timeouts.config.js';
import type { UpstreamConfig } from '../../common/config/upstreams.config.js';
import { ClientGone } from './client-gone.js';
import { EngineClient, type Target } from './engine-client.js';
import { EngineQuery, type QueryAnswer } from './engine-query.js';
import { UpstreamCredentials } from './upstream-credentials.js';

let server: Server | undefined;
let client: EngineClient;

beforeEach(() => {
  client = new EngineClient(new UpstreamCredentials([], () => undefined));
});

afterEach(async () => {
  await client.end(new Error('the test is over'));
  server?.closeAllConnections();
  server?.close();
});

/** Somebody who asks, and may leave. */
class TestAsker {
  readonly clock = new FakeClock();
  gone = false;
  leave: (() => void) | undefined;

  onLeave(callback: (() => void) | undefined): void {
    this.leave = callback;
  }
}

const CALL = { method: 'POST', path: '/count', headers: ['content-type', 'application/json'], body: Buffer.from('{}') };

async function engine(answer: RequestListener): Promise<Target> {
  server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const upstream = { name: 'engine', url, connections: 2 } as UpstreamConfig;
  const timeouts = { connectMs: 5000, readMs: 3_600_000, writeMs: 5000 } as TimeoutsConfig;
  return { upstream, timeouts };
}

const ask = (target: Target, asker = new TestAsker()): Promise<QueryAnswer | undefined> =>
  new EngineQuery(client).ask(target, CALL, asker);

it('has the answer, whatever its status, and lets the client go', async () => {
  const asker = new TestAsker();
  const target = await engine((_request, response) => response.writeHead(404, { 'x-a': 'b' }).end('absent'));
  const answer = await ask(target, asker);
  expect(answer).toMatchObject({ status: 404, headers: { 'x-a': 'b' } });
  expect(String(answer?.body)).toBe('absent');
  expect(asker.leave).toBeUndefined();
});

it('has none where nobody listens, or the connection breaks', async () => {
  const target = await engine((request) => request.socket.destroy());
  expect(await ask(target)).toBeUndefined();
  server?.closeAllConnections();
  server?.close();
  expect(await ask(target)).toBeUndefined();
});

it('waits ten seconds at most, however long an answer of this upstream may take', async () => {
  const asker = new TestAsker();
  const { promise: asked, resolve } = Promise.withResolvers<undefined>();
  const { promise: closed, resolve: onClosed } = Promise.withResolvers<undefined>();
  const target = await engine((_request, response) => {
    response.on('close', () => onClosed(undefined));
    resolve(undefined);
  });
  const answer = ask(target, asker);
  await asked;
  asker.clock.advance(10_000);
  expect(await answer).toBeUndefined();
  await closed;
});

it('stops reading an answer that is too large', async () => {
  const target = await engine((_request, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(1024 * 1024)));
    };
    response.on('drain', more);
    more();
  });
  expect(await ask(target)).toBeUndefined();
});

it('ends with the client that has left, before or meanwhile', async () => {
  const { promise: asked, resolve } = Promise.withResolvers<undefined>();
  const { promise: closed, resolve: onClosed } = Promise.withResolvers<undefined>();
  const target = await engine((_request, response) => {
    response.on('close', () => onClosed(undefined));
    resolve(undefined);
  });
  const gone = new TestAsker();
  gone.gone = true;
  await expect(ask(target, gone)).rejects.toBeInstanceOf(ClientGone);
  const asker = new TestAsker();
  const answer = ask(target, asker);
  await asked;
  asker.leave?.();
  await expect(answer).rejects.toBeInstanceOf(ClientGone);
  await closed;
});
