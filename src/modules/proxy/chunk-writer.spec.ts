import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { ChunkWriter, drainOf, isFollowed } from './chunk-writer.js';

/** All bytes of an answer whose body `write` writes, as Latin-1. */
async function answered(write: (response: ServerResponse) => Promise<void> | void, version = '1.1'): Promise<string> {
  const server = createServer((_, response) => {
    response.sendDate = false;
    response.writeHead(200, ['content-type', 'text/plain', 'connection', 'close']);
    void Promise.resolve(write(response)).then(() => response.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write(`GET / HTTP/${version}\r\nhost: test\r\n\r\n`);
  const parts: Buffer[] = [];
  client.on('data', (part) => parts.push(part));
  await once(client, 'close');
  server.close();
  return Buffer.concat(parts).toString('latin1');
}

const bodyOf = (answer: string): string => answer.slice(answer.indexOf('\r\n\r\n') + 4);
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

describe('a chunk writer', () => {
  it('frames each piece as a chunk, whatever its bytes and its size', async () => {
    const pieces = ['one', '\x00\x7f\xff\r\n0\r\n\r\n', 'x'.repeat(16 * 1024), 'last'];
    const answer = await answered(async (response) => {
      const writer = new ChunkWriter(response);
      for (const piece of pieces) {
        writer.write(latin1(piece), false);
        await turn();
      }
    });
    const frames = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('');
    expect(bodyOf(answer)).toBe(`${frames}0\r\n\r\n`);
  });

  it('keeps the order of pieces that are written in one go, and of what Node writes between them', async () => {
    const answer = await answered(async (response) => {
      const writer = new ChunkWriter(response);
      for (const [text, more] of [
        ['a', false],
        ['b', false],
        ['c', true],
        ['d', false],
      ] as const)
        writer.write(latin1(text), more);
      await turn();
      writer.write(latin1('e'), false);
      response.write('f');
      writer.write(latin1('g'), false);
    });
    expect(bodyOf(answer).replaceAll(/[0-9]\r\n|\r\n/g, '')).toBe('abcdefg');
  });

  it('frames nothing for a client of HTTP/1.0, which knows no chunks', async () => {
    const answer = await answered(async (response) => {
      const writer = new ChunkWriter(response);
      writer.write(latin1('one'), false);
      await turn();
      writer.write(latin1('two'), false);
    }, '1.0');
    expect(bodyOf(answer)).toBe('onetwo');
  });

  it('says when enough is waiting, and who tells when it has gone', async () => {
    let drained = false;
    await answered(async (response) => {
      const writer = new ChunkWriter(response);
      writer.write(latin1('head'), false);
      await turn();
      for (let i = 0; i < 2_000 && writer.write(Buffer.alloc(64 * 1024), false); i += 1);
      await once(drainOf(response), 'drain');
      drained = true;
    });
    expect(drained).toBe(true);
  });

  it('knows a chunk that another one stands behind in the same memory', () => {
    const read = new Uint8Array(Buffer.from('3\r\none\r\n3\r\ntwo\r\n'));
    expect([isFollowed(read.subarray(3, 6)), isFollowed(read.subarray(11, 14))]).toEqual([true, false]);
  });
});
