import fc from 'fast-check';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { CHAT, chatBody, chatRequest, EdgeWorld } from '../support/edge-world.js';
import { openFiles, probe, PROBED } from '../support/gateway-probe.js';
import { change, changed, mutated, randomBytes } from '../support/mutations.js';
import { RawConnection, requestBytes, type RequestParts } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';

const MIB = 1024 * 1024;
/** After this a connection whose client has said all it had to say hangs. */
const HANGS_MS = 8_000;
/** By then most of what can be answered is. */
const ANSWERED_MS = 25;
const RUNS = 1500;
const JSON_TYPE = { 'content-type': 'application/json' };
const ROUTES = [
  CHAT,
  '/v1/completions',
  '/v1/embeddings',
  '/v1/rerank',
  '/v1/alias/chat/completions',
  '/llm/v1/messages',
  '/llm/v1/messages/count_tokens',
  '/plain/x',
];

const message = { model: 'demo-chat', max_tokens: 9, messages: [{ role: 'user', content: 'mark-a' }] };
const chunked = `POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;

/** Requests that are beyond reproach, for the mutations to start from. */
const SOUND: readonly Buffer[] = [
  requestBytes(chatRequest('a')),
  requestBytes({ method: 'POST', path: CHAT, headers: JSON_TYPE, body: chatBody('a', { stream: true }) }),
  requestBytes({ method: 'POST', path: '/llm/v1/messages', headers: JSON_TYPE, body: JSON.stringify(message) }),
  requestBytes({ method: 'GET', path: '/v1/models/demo-chat', headers: { connection: 'keep-alive, x-a', 'x-a': 'b' } }),
  requestBytes({ method: 'PUT', path: '/plain/x?y=z', headers: { expect: '100-continue' }, body: 'text' }),
  Buffer.from(`${chunked.replace('\r\n\r\n', '\r\nexpect: 100-continue\r\n\r\n')}2\r\n{}\r\n0\r\n\r\n`),
  Buffer.from(`${chunked.replace(' HTTP', '?by=framework HTTP')}2\r\n{}\r\n0\r\n\r\n`),
  Buffer.from(`${chunked}5;a=b\r\n{"mod\r\n1e\r\nel":"demo-chat","messages":[]}\r\n0\r\nx-trailer: 1\r\n\r\n`),
  Buffer.from(
    'GET /kept/x HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n' +
      'sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  ),
];

const NAMES = [
  'host',
  'content-type',
  'content-encoding',
  'connection',
  'expect',
  'te',
  'upgrade',
  'authorization',
  'x-api-key',
  'anthropic-version',
  'anthropic-beta',
  'x-request-id',
  'traceparent',
  'x-forwarded-for',
  'forwarded',
  'x-llmgw-band',
  'x-llmgw-session',
  'cookie',
  'accept',
  'range',
];
const printable = fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)) });
const fields = fc.array(
  fc.tuple(fc.oneof(fc.constantFrom(...NAMES), fc.stringMatching(/^[A-Za-z0-9_.!#$%&'*+^`|~-]{1,20}$/)), printable),
  { maxLength: 12 },
);
const target = fc.oneof(
  fc.constantFrom(...ROUTES, '/healthz', '/v1/models', '/llm/v1/models/demo-chat'),
  fc.stringMatching(/^\/[!-~]{0,60}$/),
  fc.constantFrom(...ROUTES).chain((path) => fc.stringMatching(/^[!-~]{0,12}$/).map((more) => path + more)),
);
const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY');
const head: fc.Arbitrary<RequestParts> = fc.record({
  method,
  path: target,
  headers: fields,
  body: fc.option(fc.constant(chatBody('a')), { nil: '' }),
});

const value = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom('demo-chat', 'auto', 'none', 'user', 'assistant', 'tool', 'developer', true, -1, 1e308, '\ud800', ''),
);
const part = fc.record(
  {
    type: fc.constantFrom('text', 'image_url', 'image', 'tool_use', 'tool_result', 'thinking'),
    text: value,
    content: value,
    id: value,
    input: value,
    source: value,
  },
  { requiredKeys: [] },
);
const turn = fc.record(
  {
    role: fc.oneof(fc.constantFrom('user', 'assistant', 'system', 'tool', 'developer'), value),
    content: fc.oneof(fc.string(), fc.array(part, { maxLength: 3 }), value),
    tool_calls: value,
    reasoning_content: value,
  },
  { requiredKeys: [] },
);
const members = fc.record(
  {
    model: fc.oneof({ weight: 8, arbitrary: fc.constant('demo-chat') }, { weight: 1, arbitrary: value }),
    messages: fc.oneof({ weight: 4, arbitrary: fc.array(turn, { maxLength: 4 }) }, { weight: 1, arbitrary: value }),
    max_tokens: fc.oneof(fc.integer({ min: -1, max: 50 }), value),
    stream: fc.oneof(fc.boolean(), value),
    stream_options: value,
    n: value,
    tools: fc.oneof(
      fc.array(fc.record({ type: value, name: value, function: value, input_schema: value }), { maxLength: 3 }),
      value,
    ),
    tool_choice: value,
    system: fc.oneof(fc.array(part, { maxLength: 2 }), value),
    input: value,
    prompt: value,
    documents: value,
    texts: value,
    query: value,
    thinking: value,
    response_format: value,
  },
  { requiredKeys: ['model'] },
);
const body = fc.oneof(
  { weight: 6, arbitrary: members.map((tree) => Buffer.from(JSON.stringify(tree))) },
  {
    weight: 2,
    arbitrary: fc.tuple(members, change).map(([tree, place]) => changed(Buffer.from(JSON.stringify(tree)), place)),
  },
  { weight: 1, arbitrary: randomBytes },
);

/** Whatever comes over the wire, nobody else pays for it. */
describe('a live gateway under random input', () => {
  let world: EdgeWorld;

  beforeAll(async () => {
    const server = { headersTimeout: '2s', bodyTimeout: '2s' };
    world = await EdgeWorld.start({ server }, { env: PROBED });
  }, 60_000);

  afterAll(() => world.stop());

  /** The statuses of all that is answered until the gateway closes; rejects where it does not. */
  async function statuses(bytes: Uint8Array): Promise<number[]> {
    const connection = await RawConnection.open(world.gateway.port);
    const heard: Buffer[] = [];
    connection.socket.on('data', (piece: Buffer) => heard.push(piece));
    const { promise, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      reject(new Error('the gateway neither answers nor closes'));
    }, HANGS_MS);
    try {
      connection.send(bytes);
      // A client that has said that it has no more to say is one that leaves: first let it be understood.
      await Promise.race([once(connection.socket, 'data'), connection.closed, delay(ANSWERED_MS)]);
      connection.finishSending();
      await Promise.race([connection.closed, promise]);
      const text = Buffer.concat(heard).toString('latin1');
      return [...text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status));
    } finally {
      clearTimeout(timer);
      connection.destroy();
    }
  }

  /** No answer is a fault of the gateway, and one that behaves is served all the same. */
  async function survives<T>(
    inputs: fc.Arbitrary<T>,
    bytesOf: (input: T) => Uint8Array,
    expected: readonly number[],
  ): Promise<void> {
    const seen = new Map<number, number>();
    const before = { held: (await probe(world.gateway)).heldBytes, files: await openFiles(world.gateway) };
    await fc.assert(
      fc.asyncProperty(inputs, async (input) => {
        for (const status of await statuses(bytesOf(input))) {
          seen.set(status, (seen.get(status) ?? 0) + 1);
          expect(status).not.toBe(500);
        }
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
    // They were understood far enough to be refused, or to be served.
    expect([...seen.keys()]).toEqual(expect.arrayContaining([...expected]));
    expect(await world.canary('after')).toBe('mark-after');
    await eventually(async () => (await world.slotsInUse()) === 0);
    await eventually(async () => ((await openFiles(world.gateway)) ?? 0) <= (before.files ?? 0) + 4);
    await eventually(async () => (await probe(world.gateway)).heldBytes - before.held < 16 * MIB);
    const faults = world.gateway.logs().filter(({ level }) => level === 'fatal' || level === 60);
    expect(faults).toEqual([]);
  }

  it('answers or closes on any bytes', () => survives(randomBytes, (bytes) => bytes, [501]), 60_000);

  it(
    'answers or closes on almost sound requests',
    () => survives(mutated(SOUND), (bytes) => bytes, [200, 400, 501]),
    60_000,
  );

  it('answers or closes on any head', () => survives(head, requestBytes, [200, 400, 404, 405, 415]), 60_000);

  it(
    'answers or closes on any body',
    () =>
      survives(
        fc.tuple(fc.constantFrom(...ROUTES), body),
        ([path, bytes]) => requestBytes({ method: 'POST', path, headers: JSON_TYPE, body: bytes }),
        [200, 400],
      ),
    60_000,
  );
});
