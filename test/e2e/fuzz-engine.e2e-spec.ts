import fc from 'fast-check';
import { OPERATIONS } from '../../src/common/canonical/canonical-request.js';
import { chunk, DONE_EVENT, FINISH_EVENT, LAST_CHUNK, STREAM_HEAD, deltaEvent } from '../support/chat-wire.js';
import { CHAT, chatBody, contentOf, EdgeWorld } from '../support/edge-world.js';
import type { GatewayOptions } from '../support/gateway-config.js';
import { openFiles, probe, PROBED } from '../support/gateway-probe.js';
import { parseJson } from '../support/json.js';
import { mutated, randomBytes } from '../support/mutations.js';
import { RawConnection, requestBytes, type RequestParts } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';
import { jsonAnswer, type WireAnswer } from '../support/wire-upstream.js';

const MIB = 1024 * 1024;
const RUNS = 1200;
/** After this a client whose engine has said all it had to say waits in vain. */
const HANGS_MS = 8_000;
const TIMEOUTS = { connect: '2s', read: '100ms', write: '2s' };
const JSON_TYPE = { 'content-type': 'application/json' };
const MESSAGES = { max_tokens: 9, messages: [{ role: 'user', content: 'mark-a' }] };

const post = (path: string, body: object): RequestParts => ({
  method: 'POST',
  path,
  headers: JSON_TYPE,
  body: JSON.stringify(body),
});

/** One request for each way in which an answer is read. */
const ASKED: readonly RequestParts[] = [
  post(CHAT, { model: 'demo-chat', ...MESSAGES }),
  post(CHAT, { model: 'demo-chat', stream: true, ...MESSAGES }),
  post('/v1/completions', { model: 'demo-chat', prompt: 'a', stream: true }),
  post('/v1/embeddings', { model: 'demo-chat', input: ['a', 'b'] }),
  post('/v1/rerank', { model: 'demo-chat', query: 'a', documents: ['b', 'c'] }),
  post('/llm/v1/messages', { model: 'demo-chat', ...MESSAGES }),
  post('/llm/v1/messages', { model: 'demo-chat', stream: true, ...MESSAGES }),
  post('/llm/v1/messages/count_tokens', { model: 'demo-chat', messages: MESSAGES.messages }),
  post('/v1/responses', { model: 'demo-chat', input: 'a' }),
  post('/v1/responses', { model: 'demo-chat', input: 'a', stream: true }),
  post('/llm/v1/messages', { model: 'own-words', stream: true, ...MESSAGES }),
  post('/v1/responses', { model: 'own-words', input: 'a', stream: true }),
  { method: 'GET', path: '/plain/x' },
];

const events = (...all: string[]): Buffer => Buffer.from(STREAM_HEAD + all.map(chunk).join('') + LAST_CHUNK);
const named = (type: string, members: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
const toolCall = `data: ${JSON.stringify({
  choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{"a"' } }] } }],
})}\n\n`;

/** Answers that are beyond reproach, for the mutations to start from. */
const SOUND: readonly Buffer[] = [
  events(deltaEvent('Grüße'), deltaEvent('again'), FINISH_EVENT, DONE_EVENT),
  events(toolCall, FINISH_EVENT, DONE_EVENT),
  events(
    named('message_start', { message: { id: 'm', role: 'assistant', content: [], usage: { input_tokens: 1 } } }),
    named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'a' } }),
    named('message_stop', {}),
  ),
  events(named('response.created', { response: { id: 'r' } }), named('response.completed', { response: { id: 'r' } })),
  Buffer.from(
    jsonAnswer({
      id: 'c',
      model: 'demo-chat',
      choices: [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'length' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }),
  ),
  Buffer.from(jsonAnswer({ object: 'list', data: [{ index: 0, embedding: [0.5, -1e-9] }], usage: {} })),
  Buffer.from(jsonAnswer({ results: [{ index: 1, relevance_score: 0.5 }], count: 3 })),
  Buffer.from(jsonAnswer({ error: { message: 'too long', type: 'invalid_request_error' } }, '400 Bad Request')),
  Buffer.from(jsonAnswer({ object: 'error', message: 'full' }, '503 Service Unavailable', ['retry-after: 1'])),
  Buffer.from('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nx-a: b\r\n\r\n'),
];

/** How an engine goes on once it has said what it says. */
type Ending = 'fin' | 'reset' | 'silence';

interface Answered {
  readonly asked: RequestParts;
  readonly bytes: Buffer;
  /** Where the bytes are cut in two packets. */
  readonly cut: number;
  readonly ending: Ending;
}

const answeredWith = (bytes: fc.Arbitrary<Buffer>): fc.Arbitrary<Answered> =>
  fc.record({
    asked: fc.constantFrom(...ASKED),
    bytes,
    cut: fc.nat(400),
    ending: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom<Ending>('fin', 'reset') },
      { weight: 1, arbitrary: fc.constant<Ending>('silence') },
    ),
  });

/** Says those bytes, in two packets, and then ends as it is told to. */
const playing =
  ({ bytes, cut, ending }: Answered): WireAnswer =>
  (_, socket) => {
    const place = cut % (bytes.length + 1);
    socket.write(bytes.subarray(0, place));
    setImmediate(() => {
      socket.write(bytes.subarray(place));
      setImmediate(() => {
        if (ending === 'fin') socket.end();
        else if (ending === 'reset') socket.resetAndDestroy();
      });
    });
    return undefined;
  };

/** The words of the answer are the gateway's own: what it cannot read of the engine's it does not pass on. */
const isTranslated = ({ path, body }: RequestParts): boolean =>
  /^\/llm|responses/.test(path) && !String(body).includes('own-words');

/** The data of all events that are whole. */
const dataOf = (stream: string): string[] =>
  stream
    .split('\n\n')
    .slice(0, -1)
    .flatMap((event) => /^data: (.*)$/m.exec(event)?.[1] ?? [])
    .filter((data) => data !== '[DONE]');

/** Whatever an engine says, its own caller gets an answer, and nobody else pays for it. */
describe('a live gateway in front of an engine that says anything', () => {
  let world: EdgeWorld;
  let usual: WireAnswer;

  beforeAll(async () => {
    const own = { more: { dialects: ['anthropic', 'responses'] } };
    const operations = Object.fromEntries(OPERATIONS.map((name) => [name, { timeouts: TIMEOUTS }]));
    const settings = (url: string): Partial<GatewayOptions> => ({
      operations,
      upstreams: [
        { name: 'engine', url, engine: 'openai' },
        { name: 'own', url, engine: 'openai', ...own },
        { name: 'plain', url, engine: 'http' },
      ],
      models: [
        { id: 'demo-chat', upstream: 'engine', operations: OPERATIONS },
        { id: 'own-words', upstream: 'own', operations: ['chat'] },
      ],
      proxies: [{ prefix: '/plain', upstream: 'plain', more: { timeouts: TIMEOUTS } }],
      aliases: [],
    });
    world = await EdgeWorld.start(settings, { env: PROBED });
    usual = world.upstream.answer;
  }, 60_000);

  afterAll(() => world.stop());

  /** The status of an answer that its client can read: JSON is JSON, and every event of a stream holds some. */
  async function statusOf(answered: Answered): Promise<number> {
    world.upstream.answer = playing(answered);
    const connection = await RawConnection.open(world.gateway.port);
    try {
      connection.send(requestBytes(answered.asked));
      const { method } = answered.asked;
      const answer = await connection.response({ method, timeoutMs: HANGS_MS });
      if (!isTranslated(answered.asked)) return answer.status;
      const type = answer.header('content-type') ?? '';
      const read = type.includes('event-stream') ? dataOf(answer.text()) : [answer.text()];
      for (const text of read) expect(parseJson(text)).toBeDefined();
      return answer.status;
    } finally {
      connection.destroy();
    }
  }

  it.each([
    ['any bytes', randomBytes, [502]],
    ['almost sound answers', mutated(SOUND), [200, 400, 502, 503]],
  ] as const)(
    'survives %s',
    async (_, bytes, expected) => {
      const seen = new Map<number, number>();
      const before = { held: (await probe(world.gateway)).heldBytes, files: await openFiles(world.gateway) };
      await fc.assert(
        fc.asyncProperty(answeredWith(bytes), async (answered) => {
          const status = await statusOf(answered);
          seen.set(status, (seen.get(status) ?? 0) + 1);
        }),
        { numRuns: RUNS, endOnFailure: true },
      );
      expect([...seen.keys()]).toEqual(expect.arrayContaining([...expected]));
      world.upstream.answer = usual;
      await eventually(async () => (await world.slotsInUse()) === 0);
      await eventually(async () => contentOf(await world.post(chatBody('after'))) === 'mark-after');
      await eventually(async () => ((await openFiles(world.gateway)) ?? 0) <= (before.files ?? 0) + 4);
      await eventually(async () => (await probe(world.gateway)).heldBytes - before.held < 16 * MIB);
      expect(world.gateway.logs().filter(({ level, reason }) => level === 60 || reason === 'internal')).toEqual([]);
    },
    60_000,
  );
});
