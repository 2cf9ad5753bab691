import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { Connection, type Service } from './connection.js';

/** As long as Fastify's own servers keep a connection between two requests. */
const KEEP_ALIVE_MS = 72_000;

/**
 * The server of the management port: the requests of a connection are served one after another, as on the public one,
 * or whoever sends many ahead and reads no answer would have them all rendered and held at once.
 */
export function managementServer(handler: RequestListener): Server {
  const connections = new WeakMap<Socket, Connection>();
  const service: Service = { begin: handler, ended: () => undefined };
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS });
  server.on('connection', (socket: Socket) => connections.set(socket, new Connection(socket, service)));
  server.on('request', (request, response) => connections.get(request.socket)?.take(request, response));
  return server;
}
