import { setTimeout as delay } from 'node:timers/promises';
import { issuerKey } from '../support/identity-provider.js';
import { IdentityWorld } from '../support/identity-world.js';
import { handshakeBytes, RawSocketClient } from '../support/raw-socket-client.js';
import { closeOf, messageOf } from '../support/socket-upstream.js';
import { SocketWorld } from '../support/socket-world.js';

describe('WebSocket drain', () => {
  it('keeps open sockets until the drain limit, then closes them visibly', async () => {
    const proxies = [{ prefix: '/console', upstream: 'console', websocket: true }];
    const world = await SocketWorld.start(proxies, { server: { drainTimeout: '1s' } });
    const ended = await world.tunnel('/console');
    world.gateway.kill('SIGTERM');
    const last = messageOf(ended.client);
    await delay(300);
    ended.ws.send('still here');
    expect(await last).toBe('still here');
    expect(await closeOf(ended.client)).toMatchObject({ code: 1012 });
    expect(await world.gateway.exit()).toMatchObject({ code: 0 });
    await world.upstream.stop();
  }, 30_000);

  it('answers a socket that the limit meets in its token check, at once', async () => {
    const proxies = [{ prefix: '/console', upstream: 'plain', websocket: true }];
    const world = await IdentityWorld.start({ server: { drainTimeout: '1s' }, proxies });
    const { identity, edge } = world;
    const asked = Promise.withResolvers<undefined>();
    identity.keySetAnswer = () => asked.resolve(undefined);
    const token = await identity.sign({}, {}, await issuerKey('next'));
    const client = await RawSocketClient.open(
      edge.gateway.port,
      handshakeBytes('/console', { authorization: `Bearer ${token}` }),
    );
    await asked.promise;
    edge.gateway.kill('SIGTERM');
    expect((await client.head()).status).toBe(503);
    await client.end();
    expect(JSON.parse(client.body())).toMatchObject({ type: expect.stringMatching(/draining$/) as string });
    expect(await edge.gateway.exit()).toMatchObject({ code: 0 });
    await world.stop();
  }, 30_000);
});
