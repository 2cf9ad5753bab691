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
import { EngineWorld, expectProblem, INNER_LIFE } from '../support/engine-world.js';
import { head, plainRequest, write, writeAndEnd, writeAndReset } from '../support/play.js';

const READ_MS = 1500;
const TIMEOUTS = { connect: '300ms', read: `${String(READ_MS)}ms`, write: '5s' };

/** Nobody takes a cut answer for a whole one, and nobody gets what was not meant for it. */
describe('upstreams that break off', () => {
  let world: EngineWorld;

  beforeAll(async () => {
    world = await EngineWorld.start({
      proxies: [
        {
          prefix: '/plain',
          upstream: 'engine',
          methods: ['GET', 'HEAD', 'POST'],
          more: { timeouts: TIMEOUTS, maxBody: '8MiB' },
        },
      ],
      models: [{ id: 'demo-text', upstream: 'engine', operations: ['completions'] }],
      operations: { chat: { timeouts: TIMEOUTS }, completions: { timeouts: TIMEOUTS } },
    });
  }, 60_000);

  afterAll(() => world.stop());

  afterEach(() => world.slotsFree());

  const CUTS: readonly (readonly [string, string])[] = [
    [
      'with a length',
      head('HTTP/1.1 200 OK', 'content-type: application/json', 'content-length: 4000000') + CHAT_ANSWER,
    ],
    [
      'between two chunks',
      head('HTTP/1.1 200 OK', 'content-type: application/json', 'transfer-encoding: chunked') + chunk(CHAT_ANSWER),
    ],
    [
      'inside a chunk',
      head('HTTP/1.1 200 OK', 'content-type: application/json', 'transfer-encoding: chunked') + `fff\r\n${CHAT_ANSWER}`,
    ],
  ];
  const CUTTERS = { FIN: writeAndEnd, RST: writeAndReset, silence: write } as const;

  describe.each(['FIN', 'RST', 'silence'] as const)('U4 a body cut by %s', (by) => {
    it.each(CUTS)('is no clean answer to anyone, %s', async (_, bytes) => {
      world.engine.play(CUTTERS[by](bytes));
      // A call is held until it is whole, so its client gets a status of its own.
      expectProblem(await world.send(chatRequest()), by === 'silence' ? 504 : 502);
      world.engine.play(CUTTERS[by](bytes));
      const plain = await world.send(plainRequest());
      expect([plain.status, plain.end, plain.text()]).toEqual([200, 'cut', CHAT_ANSWER]);
      await world.expectNextServed();
    });

    it('ends a stream with an error event and no [DONE], on an event boundary', async () => {
      world.engine.play(CUTTERS[by](STREAM_HEAD + chunk(deltaEvent('one'))));
      const answer = await world.send(streamRequest());
      expect([answer.status, answer.end]).toEqual([200, 'clean']);
      expect(answer.text().startsWith(deltaEvent('one'))).toBe(true);
      const last = /^data: (\{"error".*\})\n\n$/.exec(answer.text().slice(deltaEvent('one').length))?.[1];
      expect(JSON.parse(last ?? 'null')).toMatchObject({ error: { message: expect.any(String) as unknown } });
      expect(answer.text()).not.toMatch(INNER_LIFE);
      await world.expectNextServed();
    });

    it('is no whole stream where only one of two choices has its end', async () => {
      const pieces = [[0, null] as const, [1, null] as const, [0, 'stop'] as const].map(([index, reason]) => {
        const choice = { index, text: 'a', finish_reason: reason };
        return `data: ${JSON.stringify({ object: 'text_completion', choices: [choice] })}\n\n`;
      });
      world.engine.play(CUTTERS[by](STREAM_HEAD + pieces.map(chunk).join('')));
      const request = streamRequest({ model: 'demo-text', prompt: ['x', 'y'], messages: undefined });
      const answer = await world.send({ ...request, path: '/v1/completions' });
      expect([answer.status, answer.end]).toEqual([200, 'clean']);
      expect(answer.text().slice(pieces.join('').length)).toMatch(/^data: \{"error".*\}\n\n$/);
      await world.expectNextServed();
    });

    it('cuts a stream inside an event, where nothing can be said any more', async () => {
      world.engine.play(CUTTERS[by](STREAM_HEAD + chunk(deltaEvent('x'.repeat(200_000)).slice(0, 150_000))));
      const answer = await world.send(streamRequest());
      const isTold = answer.end === 'clean' && answer.text().includes('"error"');
      expect(answer.end === 'cut' || isTold).toBe(true);
      expect(answer.text()).not.toContain('[DONE]');
      await world.expectNextServed();
    });
  });

  it.each(['zz\r\nhello\r\n', '-5\r\nhello\r\n', '0x5\r\nhello\r\n', 'ffffffffffffffffff\r\nhello'])(
    'U4 takes no bad chunk size for an end: %j',
    async (bad) => {
      world.engine.play(write(STREAM_HEAD + chunk(deltaEvent('one')) + bad));
      const stream = await world.send(streamRequest());
      expect(stream.text()).toMatch(/data: \{"error".*\}\n\n$/);
      expect(stream.text()).not.toContain('[DONE]');
      world.engine.play(write(head('HTTP/1.1 200 OK', 'transfer-encoding: chunked') + chunk('one') + bad));
      const plain = await world.send(plainRequest());
      expect([plain.end, plain.text()]).toEqual(['cut', 'one']);
      await world.expectNextServed();
    },
  );

  it('U4 closes the connection of a client whose stream has failed', async () => {
    world.engine.play(writeAndEnd(STREAM_HEAD + chunk(deltaEvent('one'))));
    const client = await world.ask(streamRequest());
    expect((await client.response()).end).toBe('clean');
    expect(await client.closed).toBe('fin');
  });

  it('U4 U13 says so where a stream ends cleanly but says not that it has finished', async () => {
    world.engine.play(write(STREAM_HEAD + chunk(deltaEvent('one')) + LAST_CHUNK));
    const answer = await world.send(streamRequest());
    expect(answer.text()).toMatch(/data: \{"error".*\}\n\n$/);
  });

  it.each([
    ['at once', 0],
    ['later', 60],
  ])('U5 delivers a whole extra answer to nobody, sent %s', async (_, waitMs) => {
    const stolen = jsonAnswer('{"choices":[],"stolen":true}');
    world.engine.play(async ({ socket }) => {
      if (waitMs === 0) socket.write(jsonAnswer() + stolen);
      else {
        socket.write(jsonAnswer());
        await delay(waitMs);
        socket.write(stolen);
      }
    });
    const first = await world.send(chatRequest());
    const { connection, left } = await world.engine.request(0);
    await left;
    for (let i = 0; i < 3; i++) {
      world.engine.play(write(jsonAnswer()));
      const next = await world.send(chatRequest());
      expect(next.text()).toBe(CHAT_ANSWER);
      expect(world.engine.requests[0]?.connection).not.toBe(connection);
    }
    expect(first.text()).toBe(CHAT_ANSWER);
  });

  it('U5 delivers bytes behind the last chunk to nobody', async () => {
    world.engine.play(write(`${streamAnswer('one')}${deltaEvent('stolen')}`));
    const first = await world.send(streamRequest());
    expect(first.text()).toBe(deltaEvent('one') + FINISH_EVENT + DONE_EVENT);
    await (
      await world.engine.request(0)
    ).left;
    await world.expectNextServed();
  });

  it('U12 lets a stream live that is silent for less than its time, for longer than that in all', async () => {
    world.engine.play(async ({ socket }) => {
      socket.write(STREAM_HEAD);
      for (const text of ['one', 'two', 'three']) {
        await delay(READ_MS * 0.5);
        socket.write(chunk(deltaEvent(text)));
      }
      socket.write(chunk(FINISH_EVENT) + chunk(DONE_EVENT) + LAST_CHUNK);
    });
    const answer = await world.send(streamRequest());
    expect(answer.text()).toBe(['one', 'two', 'three'].map(deltaEvent).join('') + FINISH_EVENT + DONE_EVENT);
  });

  it('U13 ends a stream visibly that has been silent for too long, and closes the engine', async () => {
    world.engine.play(write(STREAM_HEAD + chunk(deltaEvent('one'))));
    const askedAt = performance.now();
    const answer = await world.send(streamRequest());
    expect(performance.now() - askedAt).toBeLessThan(READ_MS + 1000);
    expect(answer.text()).toMatch(/data: \{"error".*\}\n\n$/);
    expect(answer.text()).toContain('timeout');
    await (
      await world.engine.request(0)
    ).left;
  });
});
