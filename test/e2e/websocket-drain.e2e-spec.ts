import { setTimeout as delay } from 'node:timers/promises';
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
});
