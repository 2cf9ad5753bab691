import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below those that the system gives to outgoing connections: of these the bench opens thousands. */
const RANGE = { from: 20_000, to: 32_000 };
const TRIES = 100;
const given = new Set();

/** A port of the loopback that nobody uses; each is given once. */
export async function freePort() {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = randomInt(RANGE.from, RANGE.to);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
  throw new Error(`of ${TRIES} ports between ${RANGE.from} and ${RANGE.to} none is free`);
}

async function isFree(port) {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if (error.code === 'EADDRINUSE') return false;
    throw error;
  }
  server.close();
  await once(server, 'close');
  return true;
}
