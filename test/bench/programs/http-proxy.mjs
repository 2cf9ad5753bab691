// @fastify/http-proxy as it comes, with enough sockets. Usage: PORT=… UPSTREAM=http://… node http-proxy.mjs
import proxy from '@fastify/http-proxy';
import Fastify from 'fastify';

const app = Fastify({ bodyLimit: 32 * 1024 * 1024, keepAliveTimeout: 120_000 });
await app.register(proxy, {
  upstream: process.env.UPSTREAM,
  undici: { connections: 4096, headersTimeout: 0, bodyTimeout: 0 },
});
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1', backlog: 4096 });
