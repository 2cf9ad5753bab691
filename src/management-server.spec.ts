import { once } from 'node:events';
import type { RequestListener, Server, ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { managementServer } from './management-server.js';

/** Requests that have been begun; each is answered by the test. */
class Desk {
  readonly begun: ServerResponse[] = [];
  private wake: () => void = () => undefined;

  readonly handler: RequestListener = (_request, response) => {
    this.begun.push(response);
    this.wake();
  };

  async until(count: number): Promise<void> {
    while (this.begun.length < count) await new Promise<void>((resolve) => (this.wake = resolve));
  }
}

const GET = 'GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n';

describe('managementServer', () => {
  let desk: Desk;
  let server: Server;
  let client: Socket;

  beforeEach(async () => {
    desk = new Desk();
    server = managementServer(desk.handler);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.on('error', () => undefined).on('data', () => undefined);
    await once(client, 'connect');
  });

  afterEach(async () => {
    client.destroy();
    server.close();
    await once(server, 'close');
  });

  it('begins a request when the answer to the one before is out', async () => {
    client.write(GET.repeat(3));
    for (let count = 1; count <= 3; count++) {
      await desk.until(count);
      await new Promise(setImmediate);
      expect(desk.begun).toHaveLength(count);
      desk.begun[count - 1]?.end('page');
    }
  });

  it('cuts whoever sends more ahead than anybody needs to', async () => {
    client.write(GET.repeat(1600));
    await once(client, 'close');
    expect(desk.begun).toHaveLength(1);
  });
});
