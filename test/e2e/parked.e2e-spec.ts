import OpenAI, { APIError } from 'openai';
import { setTimeout as delay } from 'node:timers/promises';
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
  streamAnswer,
  streamRequest,
} from '../support/chat-wire.js';
import { EngineWorld, expectProblem } from '../support/engine-world.js';
import { isObject, parseJson, type JsonObject } from '../support/json.js';
import { RawConnection, requestBytes, type RawResponse, type RequestParts } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';

const BEAT = ': keep-alive\n\n';
const HEARTBEAT_MS = 200;
const ONE_SLOT = { slots: { limit: 1, perEndpoint: 1 } };
const BANDS = [
  { name: 'gold', ceiling: 1, capacity: 8, ttl: '20s' },
  { name: 'brief', ceiling: 1, capacity: 1, ttl: '1s' },
];
const BEATING = { heartbeat: `${String(HEARTBEAT_MS)}ms`, heartbeatEventsAfter: '60s', bands: BANDS };
/** Nothing in these tests takes as long as this. */
const NO_BEAT_YET = { heartbeat: '15s', heartbeatEventsAfter: '60s', bands: BANDS };

const USAGE_EVENT = `data: ${JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_760_000_000,
  model: 'demo-chat',
  choices: [],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
})}\n\n`;
const EMPTY_ERROR = /^data: \{"error":\{.*\}\}\n\n$/;

const inBand = (band: string, request: RequestParts): RequestParts => ({
  ...request,
  headers: { ...request.headers, 'content-type': 'application/json', 'x-llmgw-band': band },
});

/** A request that is on its way, and what has come of its answer so far. */
class Asking {
  soFar = '';
  status: number | undefined;
  readonly answer: Promise<RawResponse>;

  private constructor(readonly connection: RawConnection) {
    this.answer = connection.response({
      method: 'POST',
      onHead: ({ status }) => (this.status = status),
      onBody: (bytes) => (this.soFar += bytes.toString()),
    });
    this.answer.catch(() => undefined);
  }

  static async send(world: EngineWorld, request: RequestParts): Promise<Asking> {
    const connection = await RawConnection.open(world.gateway.port);
    connection.send(requestBytes(request));
    return new Asking(connection);
  }

  get beats(): number {
    return this.soFar.split(BEAT).length - 1;
  }

  /** Settles when so many heartbeats more have come. */
  async beaten(times = 1): Promise<void> {
    const wanted = this.beats + times;
    await eventually(() => this.beats >= wanted);
  }
}

/** The events of a body, each whole: whatever stands between two of them was sent on a boundary. */
const piecesOf = (body: string): string[] =>
  body
    .split('\n\n')
    .slice(0, -1)
    .map((piece) => `${piece}\n\n`);
const withoutBeats = (body: string): string =>
  piecesOf(body)
    .filter((piece) => piece !== BEAT)
    .join('');

interface HeldSlot {
  /** Its request is answered; who comes to the engine next is too, as `engine.answer` says. */
  release(): Promise<void>;
}

/** The only slot is taken by a request that the engine answers when it is told to. */
async function holdSlot(world: EngineWorld): Promise<HeldSlot> {
  world.engine.play(() => undefined);
  const holder = await Asking.send(world, chatRequest());
  const { socket } = await world.engine.request(0);
  return {
    release: async () => {
      socket.write(jsonAnswer());
      expect((await holder.answer).status).toBe(200);
    },
  };
}

/** A stream's failure behind its head: what the client must have got. */
async function expectFailedInStream(asking: Asking, reason: string): Promise<void> {
  const answer = await asking.answer;
  expect([answer.status, answer.end]).toEqual([200, 'clean']);
  expect(answer.header('content-type')).toMatch(/^text\/event-stream/);
  const last = withoutBeats(answer.text());
  expect(last).toMatch(EMPTY_ERROR);
  expect(parseJson(last.slice('data: '.length))).toMatchObject({
    error: { code: reason, message: expect.any(String) },
  });
  expect(answer.text()).not.toContain('[DONE]');
  expect(await asking.connection.closed).toBe('fin');
}

let world: EngineWorld;
afterEach(() => world.stop(), 20_000);

describe('a stream that waits, before its first heartbeat is due', () => {
  beforeEach(async () => {
    world = await EngineWorld.start({ upstream: ONE_SLOT, admission: NO_BEAT_YET, server: { drainDelay: '200ms' } });
  });

  it('has been sent nothing, so that a quick rejection keeps its status: 503 for a full queue', async () => {
    const slot = await holdSlot(world);
    const first = await Asking.send(world, inBand('brief', streamRequest()));
    await eventually(async () => (await world.queued()) === 1);
    const refused = await world.send(inBand('brief', streamRequest()));
    expectProblem(refused, 503, 'queue-full');
    expect(refused.header('retry-after')).toMatch(/^\d+$/);
    expect(first.connection.socket.bytesRead).toBe(0);
    first.connection.destroy();
    await slot.release();
  });

  it('… 504 for a wait that was too long', async () => {
    const slot = await holdSlot(world);
    const answer = await world.send(inBand('brief', streamRequest()));
    expectProblem(answer, 504, 'queue-timeout');
    expect(world.engine.requests).toHaveLength(1);
    await slot.release();
  });

  it('… 502 for an engine that breaks off, and the status of an engine that refuses', async () => {
    world.engine.play(({ socket, call }) =>
      call === 0 ? socket.destroy() : socket.write(jsonAnswer('{"error":{"message":"no"}}', '400 Bad Request')),
    );
    expectProblem(await world.send(streamRequest()), 502, 'upstream-unreachable');
    expect((await world.send(streamRequest())).status).toBe(400);
  });

  it('… 503 in a drain', async () => {
    const slot = await holdSlot(world);
    const waiting = await Asking.send(world, streamRequest());
    await eventually(async () => (await world.queued()) === 1);
    world.gateway.kill('SIGTERM');
    expectProblem(await waiting.answer, 503, 'draining');
    await slot.release();
  });

  it('says how long it waited, as every answer does that waited, and none that did not', async () => {
    const slot = await holdSlot(world);
    const waited = [await Asking.send(world, streamRequest()), await Asking.send(world, chatRequest())];
    await eventually(async () => (await world.queued()) === 2);
    await delay(50);
    world.engine.answer = ({ socket, body }) =>
      socket.write(body.includes('"stream":true') ? streamAnswer('hello') : jsonAnswer());
    await slot.release();
    for (const { answer } of waited)
      expect(Number((await answer).header('x-llmgw-queue-ms'))).toBeGreaterThanOrEqual(50);
    for (const request of [streamRequest(), chatRequest()]) {
      const answer = await world.send(request);
      expect([answer.status, answer.header('x-llmgw-queue-ms')]).toEqual([200, undefined]);
    }
    expect(await world.gateway.metric('admission_parked_total', { upstream: 'engine' })).toBe(2);
    expect(await world.gateway.metric('admission_wait_seconds_count', { upstream: 'engine' })).toBe(5);
  });
});

describe('a stream that waits longer', () => {
  beforeEach(async () => {
    world = await EngineWorld.start({ upstream: ONE_SLOT, admission: BEATING, server: { drainTimeout: '1s' } });
  });

  it('is kept alive while it is queued, while its engine prefills and between its events, on boundaries only', async () => {
    const slot = await holdSlot(world);
    const parked = await Asking.send(world, streamRequest());
    await parked.beaten(2);
    expect([parked.status, withoutBeats(parked.soFar), world.engine.requests.length]).toEqual([200, '', 1]);

    await slot.release();
    const { socket } = await world.engine.request(1);
    await parked.beaten(2);
    socket.write(STREAM_HEAD);
    await parked.beaten(2);
    const [one, two] = [deltaEvent('one'), deltaEvent('two')];
    socket.write(chunk(one) + chunk(two.slice(0, 30)));
    await eventually(() => parked.soFar.includes(one));
    await delay(2 * HEARTBEAT_MS);
    socket.write(chunk(two.slice(30)));
    await eventually(() => parked.soFar.includes(two));
    await parked.beaten();
    socket.write([FINISH_EVENT, USAGE_EVENT, DONE_EVENT].map(chunk).join('') + LAST_CHUNK);

    const answer = await parked.answer;
    expect(withoutBeats(answer.text())).toBe(one + two + FINISH_EVENT + DONE_EVENT);
    expect(answer.end).toBe('clean');
    expect(answer.header('content-type')).toMatch(/^text\/event-stream/);
    expect([answer.header('cache-control'), answer.header('x-accel-buffering')]).toEqual(['no-store', 'no']);
    // Its head was out before anybody knew how long it would wait.
    expect(answer.header('x-llmgw-queue-ms')).toBeUndefined();
    await eventually(async () => (await world.gateway.metric('stream_heartbeats_total')) === parked.beats);
    expect(await world.gateway.metric('stream_heartbeats_total', { upstream: 'engine', dialect: 'openai' })).toBe(
      parked.beats,
    );
  });

  it('never puts a heartbeat into an event of which a part has gone out', async () => {
    const parked = await Asking.send(world, streamRequest());
    const { socket } = await world.engine.request(0);
    const huge = deltaEvent('x'.repeat(400_000));
    socket.write(STREAM_HEAD + chunk(huge.slice(0, 300_000)));
    await eventually(() => parked.soFar.length >= 290_000);
    await delay(3 * HEARTBEAT_MS);
    socket.write(chunk(huge.slice(300_000)) + chunk(FINISH_EVENT) + chunk(DONE_EVENT) + LAST_CHUNK);
    expect(withoutBeats((await parked.answer).text())).toBe(huge + FINISH_EVENT + DONE_EVENT);
  });

  it('does not take a heartbeat for a first token, nor for usage', async () => {
    const slot = await holdSlot(world);
    const parked = await Asking.send(world, streamRequest());
    await parked.beaten();
    const beatenAt = performance.now();
    await parked.beaten(2);
    const sinceFirstBeatMs = performance.now() - beatenAt;
    await slot.release();
    const { socket } = await world.engine.request(1);
    socket.write(streamAnswer('hello').replace(chunk(DONE_EVENT), chunk(USAGE_EVENT) + chunk(DONE_EVENT)));
    await parked.answer;
    const { gateway } = world;
    // With the whole answer of the one that held the slot.
    await eventually(async () => (await gateway.metric('llm_ttft_seconds_count')) === 2);
    expect(await gateway.metric('llm_ttft_seconds_sum')).toBeGreaterThan(sinceFirstBeatMs / 1000);
    expect(await gateway.metric('llm_tokens_total', { kind: 'prompt' })).toBe(1 + 7);
    expect(await gateway.metric('llm_tokens_total', { kind: 'completion' })).toBe(1 + 3);
  });

  it.each([
    ['waits too long in the queue', 'brief', 'queue_timeout', () => undefined],
    [
      'meets an engine that breaks off',
      'gold',
      'upstream_unreachable',
      async (slot: HeldSlot) => {
        world.engine.answer = ({ socket }) => socket.destroy();
        await slot.release();
      },
    ],
    ['meets an engine that is gone', 'gold', 'upstream_unreachable', () => world.engine.stop()],
  ])('is told in the stream when it %s, and nobody takes that for an end', async (_, band, reason, happens) => {
    const slot = await holdSlot(world);
    const parked = await Asking.send(world, inBand(band, streamRequest()));
    await parked.beaten();
    await happens(slot);
    await expectFailedInStream(parked, reason);
    const ours = (line: JsonObject): boolean => line['reason'] === reason && line['status'] === 200;
    await eventually(() => world.gateway.logs().some(ours));
  });

  it('is told in the stream what an engine answers that will not serve it', async () => {
    const slot = await holdSlot(world);
    const parked = await Asking.send(world, streamRequest());
    await parked.beaten();
    world.engine.answer = ({ socket }) =>
      socket.write(
        jsonAnswer('{"error":{"message":"too long","type":"BadRequestError","code":400}}', '400 Bad Request'),
      );
    await slot.release();
    const answer = await parked.answer;
    expect(answer.end).toBe('clean');
    expect(withoutBeats(answer.text())).toMatch(/^data: \{"error":\{.*too long.*\}\}\n\n$/);
    expect(await parked.connection.closed).toBe('fin');
  });

  it('gets an answer that is no stream as one', async () => {
    const slot = await holdSlot(world);
    const parked = await Asking.send(world, streamRequest());
    await parked.beaten();
    world.engine.answer = ({ socket }) => socket.write(jsonAnswer());
    await slot.release();
    const answer = await parked.answer;
    const events = piecesOf(withoutBeats(answer.text()));
    expect(events.at(-1)).toBe(DONE_EVENT);
    expect(events.map((event) => parseJson(event.slice(6))).find(isObject)).toMatchObject({
      choices: [{ delta: { content: 'hello' } }],
    });
  });

  it('keeps one form where the engine begins a whole answer and then falls silent', async () => {
    const parked = await Asking.send(world, streamRequest());
    const { socket } = await world.engine.request(0);
    const bytes = jsonAnswer();
    socket.write(bytes.slice(0, -20));
    await delay(4 * HEARTBEAT_MS);
    socket.write(bytes.slice(-20));
    const answer = await parked.answer;
    const type = answer.header('content-type') ?? '';
    expect([answer.status, answer.end]).toEqual([200, 'clean']);
    expect(type).toMatch(/^text\/event-stream/);
    expect(piecesOf(withoutBeats(answer.text())).at(-1)).toBe(DONE_EVENT);
  });

  it('frees its place when its client leaves, and never reaches the engine', async () => {
    const slot = await holdSlot(world);
    const parked = await Asking.send(world, streamRequest());
    const behind = await Asking.send(world, streamRequest({ user: 'behind' }));
    await parked.beaten();
    await behind.beaten();
    parked.connection.destroy();
    await eventually(async () => (await world.queued()) === 1);
    world.engine.answer = ({ socket }) => socket.write(streamAnswer('hello'));
    await slot.release();
    expect(withoutBeats((await behind.answer).text())).toContain('hello');
    expect(world.engine.requests.map(({ body }) => body.includes('behind'))).toEqual([false, true]);
    await world.slotsFree();
    const { gateway } = world;
    expect(await gateway.metric('client_disconnects_total', { phase: 'queued' })).toBe(1);
    expect(await gateway.metric('admission_rejected_total', { reason: 'cancelled' })).toBe(1);
    const counted = (status: string) => gateway.metric('http_requests_total', { upstream: 'engine', status });
    expect([await counted('200'), await counted('499')]).toEqual([2, 1]);
    const line = () => gateway.logs().find(({ client_gone }) => client_gone === true);
    await eventually(() => line() !== undefined);
    expect(line()).toMatchObject({ status: 200, phase: 'queued' });
    expect(line()?.['response_bytes']).toBeGreaterThanOrEqual(parked.soFar.length);
  });

  it('stays silent where it is no stream', async () => {
    const slot = await holdSlot(world);
    const parked = await Asking.send(world, chatRequest());
    await delay(5 * HEARTBEAT_MS);
    expect(parked.connection.socket.bytesRead).toBe(0);
    world.engine.answer = ({ socket }) => socket.write(jsonAnswer());
    await slot.release();
    const answer = await parked.answer;
    expect([answer.status, answer.text()]).toEqual([200, CHAT_ANSWER]);
    expect(Number(answer.header('x-llmgw-queue-ms'))).toBeGreaterThanOrEqual(5 * HEARTBEAT_MS);
    expect(await world.gateway.metric('stream_heartbeats_total')).toBeUndefined();
  });
});

describe('a stream that waits very long', () => {
  const events = { ...BEATING, heartbeatEventsAfter: '500ms' };

  it.each([
    ['chat', '/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }, 'chat.completion.chunk'],
    ['completions', '/v1/completions', { prompt: 'hi' }, 'text_completion'],
  ])('is kept alive with events that say nothing: %s', async (operation, path, body, object) => {
    world = await EngineWorld.start({
      upstream: ONE_SLOT,
      admission: events,
      models: [{ id: 'both', upstream: 'engine', operations: ['chat', 'completions'] }],
    });
    const slot = await holdSlot(world);
    const parked = await Asking.send(world, {
      ...streamRequest(),
      path,
      body: JSON.stringify({ model: 'both', stream: true, ...body }),
    });
    await eventually(() => piecesOf(parked.soFar).length >= 5);
    const pieces = piecesOf(parked.soFar);
    // Comments first: an event commits the dialect to a beginning of the answer.
    expect(pieces[0]).toBe(BEAT);
    const empty = pieces.filter((piece) => piece !== BEAT).map((piece) => parseJson(piece.slice('data: '.length)));
    expect(empty.length).toBeGreaterThan(1);
    const says = operation === 'chat' ? { delta: { role: 'assistant', content: '' } } : { text: '' };
    expect(empty[0]).toMatchObject({ object, model: 'both', choices: [{ index: 0, finish_reason: null, ...says }] });
    for (const later of empty.slice(1)) expect(JSON.stringify(later)).not.toContain('"content":"');

    world.engine.answer = ({ socket }) => socket.write(streamAnswer('hello'));
    await slot.release();
    const whole = (await parked.answer).text();
    expect(whole).toContain('hello');
    expect(whole.endsWith(DONE_EVENT)).toBe(true);
    const beats = piecesOf(whole).length - 3;
    await eventually(async () => (await world.gateway.metric('stream_heartbeats_total')) === beats);
  });
});

describe('the official client', () => {
  const messages = [{ role: 'user' as const, content: 'hi' }];
  const client = (): OpenAI => new OpenAI({ baseURL: `${world.gateway.origin}/v1`, apiKey: 'any', maxRetries: 0 });

  beforeEach(async () => {
    world = await EngineWorld.start({ upstream: ONE_SLOT, admission: { ...BEATING, heartbeatEventsAfter: '500ms' } });
  });

  /** Settles when the parked stream has been sent a heartbeat event. */
  const beaten = () => delay(1000);

  it('reads a parked stream to the right text', async () => {
    const slot = await holdSlot(world);
    const completion = client().chat.completions.stream({ model: 'demo-chat', messages }).finalChatCompletion();
    await eventually(async () => (await world.queued()) === 1);
    await beaten();
    world.engine.answer = ({ socket }) => socket.write(streamAnswer('Hello, ', 'you.'));
    await slot.release();
    const { choices } = await completion;
    expect(choices).toHaveLength(1);
    expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { role: 'assistant', content: 'Hello, you.' } });
  });

  it('throws on the error of a parked stream', async () => {
    const slot = await holdSlot(world);
    const text: string[] = [];
    const reading = (async () => {
      const stream = await client().chat.completions.create({ model: 'demo-chat', messages, stream: true });
      for await (const { choices } of stream) text.push(choices[0]?.delta.content ?? '');
    })();
    const failure = reading.then(
      () => undefined,
      (error: unknown) => error,
    );
    await eventually(async () => (await world.queued()) === 1);
    await beaten();
    world.engine.answer = ({ socket }) => socket.destroy();
    await slot.release();
    const error = await failure;
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ code: 'upstream_unreachable' });
    expect(text.join('')).toBe('');
  });
});

describe('a stream that waits in a drain', () => {
  const start = async (drainTimeout: string): Promise<void> => {
    const server = { drainDelay: '100ms', drainTimeout };
    world = await EngineWorld.start({ upstream: ONE_SLOT, server, admission: { ...BEATING, heartbeat: '500ms' } });
  };

  it('keeps its place and is served, while one that was sent nothing is turned away', async () => {
    await start('10s');
    const slot = await holdSlot(world);
    const parked = await Asking.send(world, streamRequest());
    await parked.beaten();
    const fresh = await Asking.send(world, streamRequest());
    await eventually(async () => (await world.queued()) === 2);
    world.gateway.kill('SIGTERM');
    expectProblem(await fresh.answer, 503, 'draining');
    await parked.beaten();
    world.engine.answer = ({ socket }) => socket.write(streamAnswer('hello'));
    await slot.release();
    expect(withoutBeats((await parked.answer).text())).toBe(deltaEvent('hello') + FINISH_EVENT + DONE_EVENT);
    expect(await world.gateway.exit()).toEqual({ code: 0, signal: null });
  });

  it('is told in the stream where the drain may last no longer', async () => {
    await start('1500ms');
    await holdSlot(world);
    const parked = await Asking.send(world, streamRequest());
    await parked.beaten();
    world.gateway.kill('SIGTERM');
    await expectFailedInStream(parked, 'draining');
    expect(await world.gateway.exit()).toEqual({ code: 0, signal: null });
    expect(world.engine.requests).toHaveLength(1);
  });
});
