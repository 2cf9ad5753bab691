import { createServer, connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { afterReading, allRead } from './after-reading.js';

/** Two connections to a server here, and what it has read of each when it gets to say so. */
async function twoClients(onData: (socket: Socket) => void): Promise<{ say(): void; end(): Promise<void> }> {
  const server = createServer((socket) => socket.on('data', () => onData(socket)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const clients: Socket[] = [];
  for (let nth = 0; nth < 2; nth += 1) {
    clients.push(connect(port, '127.0.0.1'));
    await once(server, 'connection');
  }
  return {
    say: () => clients.forEach((client) => client.write('.')),
    end: async () => {
      clients.forEach((client) => client.destroy());
      server.close();
      await once(server, 'close');
    },
  };
}

describe('afterReading', () => {
  it('does all that waits in the order in which it came, and not at once', async () => {
    const done: string[] = [];
    afterReading(() => done.push('one'));
    afterReading(() => done.push('two'));
    expect(done).toEqual([]);
    await turn();
    expect(done).toEqual(['one', 'two']);
  });

  it('lets what has come on another connection be read first', async () => {
    const seen: string[] = [];
    let settle: () => void = () => undefined;
    const all = new Promise<void>((resolve) => (settle = resolve));
    const clients = await twoClients(() => {
      seen.push('read');
      afterReading(() => {
        seen.push('done');
        if (seen.length === 4) settle();
      });
    });
    // Both are there when the event loop looks again.
    clients.say();
    for (const until = performance.now() + 20; performance.now() < until;);
    await all;
    await clients.end();
    expect(seen).toEqual(['read', 'read', 'done', 'done']);
  });

  it('leaves for the next turn what is asked for meanwhile', async () => {
    const done: string[] = [];
    afterReading(() => {
      done.push('one');
      afterReading(() => done.push('two'));
    });
    await turn();
    expect(done).toEqual(['one']);
    await turn();
    expect(done).toEqual(['one', 'two']);
  });

  it('settles for all that await the same turn together', async () => {
    const first = allRead();
    expect(allRead()).toBe(first);
    await first;
    expect(allRead()).not.toBe(first);
  });
});
