import type { JsonObject } from '../support/json.js';
import { frame, OPCODE, type FrameParts } from '../support/raw-socket-client.js';
import { closeOf } from '../support/socket-upstream.js';
import { eventually, SocketWorld } from '../support/socket-world.js';

/** What happens to a side that breaks the protocol, and to the other one. */
describe('WebSocket frames', () => {
  let world: SocketWorld;

  beforeAll(async () => {
    world = await SocketWorld.start([
      { prefix: '/console', upstream: 'console', websocket: true, more: { maxBody: '64KiB' } },
    ]);
  }, 60_000);

  afterAll(() => world.stop());
  afterEach(() => world.slotsFree());

  const broken: readonly [string, number, FrameParts[]][] = [
    ['an unmasked frame', 1002, [{ opcode: OPCODE.text, payload: 'x', masked: false }]],
    ['a reserved bit', 1002, [{ opcode: OPCODE.text, payload: 'x', reserved: 2 }]],
    ['a compressed frame', 1002, [{ opcode: OPCODE.text, payload: 'x', reserved: 4 }]],
    ['a reserved opcode', 1002, [{ opcode: 3, payload: 'x' }]],
    ['a reserved control opcode', 1002, [{ opcode: 11 }]],
    ['a fragmented ping', 1002, [{ opcode: OPCODE.ping, fin: false }]],
    ['a ping that is too long', 1002, [{ opcode: OPCODE.ping, payload: Buffer.alloc(126) }]],
    ['a continuation of nothing', 1002, [{ opcode: OPCODE.continuation, payload: 'x' }]],
    ['a close code that is never sent', 1002, [{ opcode: OPCODE.close, payload: Buffer.from([0x03, 0xee]) }]],
    ['a close frame of one byte', 1002, [{ opcode: OPCODE.close, payload: Buffer.from([3]) }]],
    ['text that is not UTF-8', 1007, [{ opcode: OPCODE.text, payload: Buffer.from([0xc3, 0x28]) }]],
    ['a reason that is not UTF-8', 1007, [{ opcode: OPCODE.close, payload: Buffer.from([0x03, 0xe8, 0xff]) }]],
    ['a message over the cap', 1009, [{ opcode: OPCODE.binary, payload: Buffer.alloc(65_537) }]],
    ['a length of 2^63', 1009, [{ opcode: OPCODE.binary, claimedLength: 2n ** 63n }]],
    ['a length of 2^62', 1009, [{ opcode: OPCODE.binary, claimedLength: 2n ** 62n }]],
    ['61 pings at a go', 1008, Array.from({ length: 61 }, () => ({ opcode: OPCODE.ping }))],
    ['fragments that add up to more than the cap', 1009, fragments(3, 30_000)],
  ];

  it.each(broken)('closes both sides at %s', async (_, code, frames) => {
    const client = await world.raw('/console');
    const { ws } = await world.upstream.next();
    const heard: Buffer[] = [];
    ws.on('message', (data: Buffer) => heard.push(data));
    const closed = closeOf(ws);
    const [, id] = /^x-request-id: (.*)\r$/im.exec((await client.head()).text) ?? [];
    client.send(...frames.map(frame));
    expect(await client.closeCode()).toBe(code);
    await client.end();
    expect(await closed).toMatchObject({ code: 1001 });
    expect(heard).toEqual([]);
    const line = (): JsonObject | undefined => world.gateway.logs().find((each) => each['request_id'] === id);
    await eventually(() => line() !== undefined);
    const fault = { status: 101, outcome: 'ok', reason: 'invalid_request', cause: `closed with ${String(code)}` };
    expect(line()).toMatchObject(fault);
    expect((await fetch(`${world.gateway.origin}/healthz`)).status).toBe(200);
  });

  it('answers 60 pings at a go, and as many again', async () => {
    const client = await world.raw('/console');
    const { ws } = await world.upstream.next();
    const pings = Array.from({ length: 60 }, (_, i) => ({ opcode: OPCODE.ping, payload: String(i) }));
    await client.head();
    const pongs = (): string[] => client.frames().map(({ payload }) => payload.toString());
    client.send(...pings.map(frame));
    await client.until(() => pongs().length === 60);
    client.send(...pings.map(frame));
    await client.until(() => pongs().length === 120);
    expect(pongs()).toEqual([...pings, ...pings].map(({ payload }) => payload));
    client.socket.destroy();
    await closeOf(ws);
  });

  it('tells the client of an upstream that floods it with pings', async () => {
    const { ws, socket, client } = await world.tunnel('/console');
    const closed = closeOf(ws);
    const ping = frame({ opcode: OPCODE.ping, masked: false });
    socket.write(Buffer.concat(Array.from({ length: 61 }, () => ping)));
    expect(await closeOf(client)).toMatchObject({ code: 1014 });
    expect(await closed).toMatchObject({ code: 1008 });
  });

  it('closes both sides at an upstream that breaks the protocol or sends too much', async () => {
    const broken = await world.tunnel('/console');
    broken.socket.write(frame({ opcode: 3, masked: false }));
    expect(await closeOf(broken.client)).toMatchObject({ code: 1014 });
    const large = await world.tunnel('/console');
    large.ws.send(Buffer.alloc(65_537));
    expect(await closeOf(large.client)).toMatchObject({ code: 1009 });
  });
});

function fragments(count: number, bytes: number): FrameParts[] {
  return Array.from({ length: count }, (_, i) => ({
    opcode: i === 0 ? OPCODE.binary : OPCODE.continuation,
    payload: Buffer.alloc(bytes),
    fin: i === count - 1,
  }));
}
