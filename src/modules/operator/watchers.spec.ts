import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { FakeClock } from '../../../test/support/fake-clock.js';
import { MOST_WATCHERS, Watchers } from './watchers.js';

let server: Server;
let watchers: Watchers;
let clock: FakeClock;
let told: number;
let greeting: Promise<string>;
const sockets: Socket[] = [];
const responses: ServerResponse[] = [];

beforeEach(async () => {
  clock = new FakeClock();
  told = 0;
  greeting = Promise.resolve('data: hello\n\n');
  const news = (): Promise<string> => {
    told += 1;
    return Promise.resolve(`data: ${told}\n\n`);
  };
  watchers = new Watchers({ greeting: () => greeting, news }, clock, 1000);
  server = createServer((_request, response) => {
    responses.push(response);
    watchers.add(response, {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(async () => {
  responses.length = 0;
  sockets.splice(0).forEach((socket) => socket.destroy());
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

/** Somebody who looks; `text()`: what has come so far. */
async function watch(): Promise<{ socket: Socket; text: () => string }> {
  const socket = connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
  sockets.push(socket);
  let text = '';
  socket.on('data', (bytes) => (text += bytes.toString()));
  socket.on('error', () => undefined);
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  while (!text.includes('data: hello')) await delay(5);
  return { socket, text: () => text };
}
const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await delay(5);
};

it('greets a newcomer, then tells all of them the same news once a second', async () => {
  const one = await watch();
  const two = await watch();
  clock.advance(1000);
  await until(() => two.text().includes('data: 1'));
  expect(one.text()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*connection: close[^]*retry: 2000\n\n[^]*data: hello\n\n/);
  await until(() => one.text().includes('data: 1'));
  expect(told).toBe(1);
  clock.advance(1000);
  await until(() => one.text().includes('data: 2') && two.text().includes('data: 2'));
  expect(told).toBe(2);
});

it('does nothing while nobody looks', async () => {
  const { socket, text } = await watch();
  clock.advance(1000);
  await until(() => text().includes('data: 1'));
  socket.destroy();
  await until(() => watchers.count === 0);
  clock.advance(60_000);
  expect(told).toBe(1);
});

it('tells a newcomer nothing before it has been greeted, however long that takes', async () => {
  const first = await watch();
  const { promise, resolve } = Promise.withResolvers<string>();
  greeting = promise;
  const arriving = watch();
  await until(() => watchers.count === 2);
  clock.advance(1000);
  await until(() => first.text().includes('data: 1'));
  resolve('data: hello\n\n');
  const second = await arriving;
  clock.advance(1000);
  await until(() => second.text().includes('data: 2'));
  expect(second.text()).not.toContain('data: 1');
});

it('cuts a watcher that takes nothing any more; the others go on', async () => {
  const slow = await watch();
  const quick = await watch();
  const [response] = responses;
  // What is held back here stands for what a full socket does not take.
  response?.cork();
  response?.write('x'.repeat(2000));
  clock.advance(1000);
  await once(slow.socket, 'close');
  await until(() => watchers.count === 1);
  clock.advance(1000);
  await until(() => quick.text().includes(`data: ${told}`));
});

it('is full at a number, and ends them all', async () => {
  for (let at = 0; at < MOST_WATCHERS; at += 1) await watch();
  expect(watchers.full).toBe(true);
  sockets[0]?.destroy();
  await until(() => !watchers.full);
  watchers.close();
  expect(watchers.full).toBe(true);
  await until(() => watchers.count === 0);
});
