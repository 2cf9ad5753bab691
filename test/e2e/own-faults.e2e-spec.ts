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
import type { RequestParts } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';

const ready: RequestParts = { method: 'GET', path: '/readyz' };
const injected = (module: string) => ({
  env: { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(module)}` },
});

/** A fault of the gateway's own ends as little as it can, and never goes on unseen. */
describe('own faults', () => {
  let world: EngineWorld;

  afterEach(() => world.stop());

  it('L8 ends one request by an exception in its handling, and no other', async () => {
    // Stands in for a fault of our own: whoever writes these bytes finds that writing throws.
    const fault = `
      import { ServerResponse } from 'node:http';
      const { write, writeHead } = ServerResponse.prototype;
      ServerResponse.prototype.write = function (bytes, ...rest) {
        if (Buffer.from(bytes).includes('throws in a stream')) throw new TypeError('secret text');
        return write.call(this, bytes, ...rest);
      };
      ServerResponse.prototype.writeHead = function (status, fields, ...rest) {
        if (status === 200 && String(fields).includes('throws-in-a-head')) throw new TypeError('secret text');
        return writeHead.call(this, status, fields, ...rest);
      };`;
    world = await EngineWorld.start({}, injected(fault));
    const next = Promise.withResolvers<undefined>();
    world.engine.play(async ({ socket, body }) => {
      if (!body.includes('"stream":true')) return socket.write(jsonAnswer());
      socket.write(STREAM_HEAD + chunk(deltaEvent('one')));
      await next.promise;
      return socket.write(
        chunk(deltaEvent(body.includes('faulty') ? 'throws in a stream' : 'two')) +
          [FINISH_EVENT, DONE_EVENT].map(chunk).join('') +
          LAST_CHUNK,
      );
    });
    const healthy = world.send(streamRequest());
    const faulty = world.send(streamRequest({ user: 'faulty' }));
    await world.engine.request(1);
    const request = chatRequest();
    const failed = await world.send({
      ...request,
      headers: { ...request.headers, 'x-request-id': 'throws-in-a-head' },
    });
    expectProblem(failed, 500, 'internal');
    expect(failed.text()).not.toContain('secret');
    next.resolve(undefined);
    const cut = await faulty;
    expect(cut.text()).not.toContain('[DONE]');
    expect(cut.text()).not.toContain('secret');
    expect((await healthy).text()).toBe(deltaEvent('one') + deltaEvent('two') + FINISH_EVENT + DONE_EVENT);
    await world.slotsFree();
    await world.expectNextServed();
    expect((await world.send(ready)).status).toBe(200);
  });

  it.each([
    ['exception', `setImmediate(() => { throw new Error('secret text'); })`],
    ['rejection', `void Promise.reject(new Error('secret text'))`],
  ])('L9 takes an unhandled %s for the end: says so, drains and exits with 1', async (_, fault) => {
    world = await EngineWorld.start(
      { server: { drainDelay: '500ms', drainTimeout: '8s' } },
      injected(`process.on('SIGUSR2', () => { ${fault}; });`),
    );
    world.engine.play(() => undefined);
    const client = await world.ask(chatRequest());
    const { socket } = await world.engine.request(0);
    world.gateway.kill('SIGUSR2');
    await eventually(() => world.gateway.logs().some(({ level }) => level === 60));
    expectProblem(await world.send(ready), 503, 'not-ready');
    socket.write(jsonAnswer());
    expect((await client.response()).text()).toBe(CHAT_ANSWER);
    expect(await world.gateway.exit()).toEqual({ code: 1, signal: null });
    expect(world.gateway.output()).not.toContain('secret text');
  });

  it('L9 exits with 1 though it is told to end while it does', async () => {
    world = await EngineWorld.start(
      { server: { drainDelay: '3s', drainTimeout: '8s' } },
      injected(`process.on('SIGUSR2', () => setImmediate(() => { throw new Error('x'); }));`),
    );
    world.gateway.kill('SIGUSR2');
    await eventually(() => world.gateway.logs().some(({ level }) => level === 60));
    world.gateway.kill('SIGTERM');
    expect(await world.gateway.exit()).toEqual({ code: 1, signal: null });
  });
});
