import { appendFileSync } from 'node:fs';
import { Socket } from 'node:net';

/*
 * Loaded into an agent's process ahead of the agent itself: a connection that is not to this machine fails before even the
 * name is looked up, and the host is noted in the file that `OUTSIDE_HOSTS_FILE` names. Every client library, Node's own
 * fetch included, opens its connections through this one method.
 */

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/;

/** The host a connection is for; undefined: a socket of the file system. */
function hostOf(target: unknown, second: unknown): string | undefined {
  // Node hands its own calls over as one list: the options, then the listener.
  if (Array.isArray(target)) return hostOf(target[0], target[1]);
  if (typeof target !== 'object' || target === null) {
    if (!Number.isInteger(Number(target))) return undefined;
    return typeof second === 'string' ? second : 'localhost';
  }
  if ('path' in target && typeof target.path === 'string') return undefined;
  return 'host' in target && typeof target.host === 'string' ? target.host : 'localhost';
}

const connect = Reflect.get(Socket.prototype, 'connect') as (...args: unknown[]) => Socket;

function connectWithin(this: Socket, ...args: unknown[]): Socket {
  const host = hostOf(args[0], args[1]);
  if (host === undefined || LOOPBACK.test(host)) return connect.apply(this, args);
  appendFileSync(process.env['OUTSIDE_HOSTS_FILE'] ?? '/dev/null', `${host}\n`);
  const error = Object.assign(new Error(`connect ENETUNREACH ${host}`), { code: 'ENETUNREACH' });
  // As late as a real failure: whoever connects may listen for errors only from the next tick on.
  setImmediate(() => this.destroy(error));
  return this;
}

Reflect.set(Socket.prototype, 'connect', connectWithin);
