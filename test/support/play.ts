import { setTimeout as delay } from 'node:timers/promises';
import type { RequestParts } from './raw-client.js';
import type { TcpAnswer } from './tcp-engine.js';

/** Answers with these bytes, and keeps the connection. */
export const write =
  (bytes: string): TcpAnswer =>
  ({ socket }) =>
    socket.write(bytes);

export const writeAndEnd =
  (bytes: string): TcpAnswer =>
  ({ socket }) =>
    socket.end(bytes);

/** The bytes have arrived before the reset can overtake them. */
export const writeAndReset =
  (bytes: string): TcpAnswer =>
  async ({ socket }) => {
    socket.write(bytes);
    await delay(30);
    socket.resetAndDestroy();
  };

/** A head of these lines. */
export const head = (...lines: readonly string[]): string => [...lines, '', ''].join('\r\n');

/** A request of a prefix that is called so. */
export const plainRequest = (method = 'GET', path = '/plain/x'): RequestParts => ({ method, path });
