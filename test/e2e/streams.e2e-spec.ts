import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import {
  chatRequest,
  chunk,
  deltaEvent,
  DONE_EVENT,
  FINISH_EVENT,
  jsonAnswer,
  LAST_CHUNK,
  STREAM_HEAD,
  streamRequest,
} from '../support/chat-wire.js';
import { EngineWorld } from '../support/engine-world.js';
import { bestOf, percentile } from '../support/measure.js';
import type { RequestParts } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';

const AT_ONCE_MS = 100;
const GAP_ADDED_MS = 5;
const END = chunk(FINISH_EVENT) + chunk(DONE_EVENT) + LAST_CHUNK;
const plain = (fields: Readonly<Record<string, string>> = {}): RequestParts => ({
  method: 'GET',
  path: '/plain/x',
  headers: fields,
});

/** What an engine streams is with the client at once, and as it was. */
describe('streams', () => {
  let world: EngineWorld;

  beforeAll(async () => {
    world = await EngineWorld.start({
      upstream: { slots: { limit: 64, perEndpoint: 64 } },
      proxies: [{ prefix: '/plain', upstream: 'engine' }],
    });
  }, 60_000);

  afterAll(() => world.stop());

  afterEach(() => world.slotsFree());

  it.each([
    ['a chat', streamRequest()],
    ['a plain request', plain()],
  ])('S1 has the head of %s with the client before the first event', async (_, request) => {
    const took = async (): Promise<number> => {
      let wroteAt = NaN;
      world.engine.play(({ socket }) => {
        wroteAt = performance.now();
        socket.write(STREAM_HEAD);
      });
      const client = await world.ask(request);
      const headAt = await new Promise<number>((resolve) => {
        void client.response({ onHead: () => resolve(performance.now()) }).catch(() => undefined);
      });
      client.destroy();
      return headAt - wroteAt;
    };
    expect(await bestOf(2, AT_ONCE_MS, took)).toBeLessThan(AT_ONCE_MS);
  });

  it('S2 forwards each event within 100 ms of its arrival', async () => {
    const texts = Array.from({ length: 20 }, (_, at) => `event ${String(at)}`);
    const worst = async (): Promise<number> => {
      const wroteAt: number[] = [];
      world.engine.play(async ({ socket }) => {
        socket.write(STREAM_HEAD);
        for (const text of texts) {
          await delay(15);
          wroteAt.push(performance.now());
          socket.write(chunk(deltaEvent(text)));
        }
        socket.write(END);
      });
      const heardAt: number[] = [];
      await world.send(streamRequest(), { onBody: () => heardAt.push(performance.now()) });
      return Math.max(...wroteAt.map((at, i) => (heardAt[i] ?? Infinity) - at));
    };
    expect(await bestOf(2, AT_ONCE_MS, worst)).toBeLessThan(AT_ONCE_MS);
  });

  const LINE_ENDS = ['\n', '\r\n', '\r'];
  const withLineEnd = (event: string, lineEnd: string): string => event.replaceAll('\n', lineEnd);
  const TEXT = 'Grüße, 世界 🌍 \u0000 "quoted" \\ back';

  describe.each([
    ['a chat', streamRequest()],
    ['a plain request', plain()],
  ])('S2 to %s', (_, request) => {
    it.each(LINE_ENDS)('hands the bytes on as they are with line ends %j', async (lineEnd) => {
      const body = [deltaEvent(TEXT), ': a comment\n\n', deltaEvent('two'), FINISH_EVENT, DONE_EVENT]
        .map((each) => withLineEnd(each, lineEnd))
        .join('');
      world.engine.play(({ socket }) => socket.write(STREAM_HEAD + chunk(body) + LAST_CHUNK));
      const answer = await world.send(request);
      expect([answer.end, answer.text()]).toEqual(['clean', body]);
    });

    it.each([1, 2, 3, 7, 61])('hands the bytes on as they are in pieces of %d', async (size) => {
      const body = Buffer.from(deltaEvent(TEXT) + withLineEnd(deltaEvent('two'), '\r\n') + FINISH_EVENT + DONE_EVENT);
      world.engine.play(async ({ socket }) => {
        socket.write(STREAM_HEAD);
        for (let at = 0; at < body.length; at += size) {
          const piece = body.subarray(at, at + size);
          socket.write(Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]));
          if (at % 61 === 0) await delay(1);
        }
        socket.write(LAST_CHUNK);
      });
      const answer = await world.send(request);
      expect([answer.end, answer.text()]).toEqual(['clean', body.toString()]);
    });
  });

  it('S2 hands every byte on that there is, in a stream of a plain upstream', async () => {
    const bytes = Buffer.from(Array.from({ length: 4096 }, (_, at) => at % 256));
    world.engine.play(({ socket }) => {
      socket.write(`${STREAM_HEAD}1000\r\n`);
      socket.write(bytes);
      socket.write(`\r\n${LAST_CHUNK}`);
    });
    expect((await world.send(plain())).body.equals(bytes)).toBe(true);
  });

  it('S2 adds gaps below 5 ms (p95) to chunks that are 50 ms apart', async () => {
    const added = async (): Promise<number> => {
      const streams = await Promise.all(Array.from({ length: 8 }, () => gapsAdded(40)));
      return percentile(streams.flat(), 0.95);
    };
    expect(await bestOf(2, GAP_ADDED_MS, added)).toBeLessThan(GAP_ADDED_MS);
  }, 15_000);

  /** By how much longer the client waits from chunk to chunk than the engine did, for one stream, in milliseconds. */
  async function gapsAdded(chunks: number): Promise<number[]> {
    const user = String(Math.random());
    const wroteAt: number[] = [];
    const before = world.engine.answer;
    world.engine.answer = async (request) => {
      if (!request.body.includes(user)) return before(request);
      request.socket.write(STREAM_HEAD);
      for (let i = 0; i < chunks; i++) {
        await delay(50);
        wroteAt.push(performance.now());
        request.socket.write(chunk(deltaEvent(String(i))));
      }
      request.socket.write(END);
      return undefined;
    };
    const heardAt: number[] = [];
    await world.send(streamRequest({ user }), { onBody: () => heardAt.push(performance.now()) });
    const gap = (times: readonly number[], at: number): number => (times[at] ?? NaN) - (times[at - 1] ?? NaN);
    return Array.from({ length: chunks - 1 }, (_, i) => gap(heardAt, i + 1) - gap(wroteAt, i + 1));
  }

  it('S3 keeps a compressed answer, its coding and its length together', async () => {
    const body = gzipSync('x'.repeat(10_000));
    world.engine.play(({ socket, head }) => {
      expect(head.toLowerCase()).toContain('accept-encoding: gzip');
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip\r\ncontent-length: ${String(body.length)}\r\n\r\n`,
      );
      socket.write(body);
    });
    const answer = await world.send(plain({ 'accept-encoding': 'gzip' }));
    expect([answer.header('content-encoding'), answer.header('content-length')]).toEqual(['gzip', String(body.length)]);
    expect(answer.body.equals(body)).toBe(true);
  });

  it('S3 never compresses a stream, and asks no engine for it', async () => {
    world.engine.play(({ socket }) => socket.write(STREAM_HEAD + chunk(deltaEvent('one')) + END));
    const request = streamRequest();
    const answer = await world.send({ ...request, headers: { ...request.headers, 'accept-encoding': 'gzip, br' } });
    expect(answer.header('content-encoding')).toBeUndefined();
    expect(answer.text()).toContain(deltaEvent('one'));
    expect(world.engine.requests[0]?.head.toLowerCase()).not.toContain('accept-encoding');
  });

  it('S4 mixes no byte of 60 concurrent streams, some of them cut', async () => {
    world.engine.play(async ({ socket, body }) => {
      const user = /"user":"([^"]+)"/.exec(body.toString())?.[1] ?? '';
      socket.write(STREAM_HEAD);
      for (let i = 0; i < 30; i++) {
        socket.write(chunk(deltaEvent(`${user}#${String(i)} ${user.repeat(i)}`)));
        await delay(i % 5);
        if (user.endsWith('cut') && i === 20) return socket.destroy();
      }
      return socket.write(END);
    });
    const users = Array.from(
      { length: 60 },
      (_, at) => `<${String(at)}-${createHash('sha1').update(String(at)).digest('hex')}>${at % 6 === 0 ? 'cut' : ''}`,
    );
    const answers = await Promise.all(users.map((user) => world.send(streamRequest({ user }))));
    answers.forEach((answer, at) => {
      const user = users[at] ?? '';
      const isCut = user.endsWith('cut');
      const events = Array.from({ length: isCut ? 21 : 30 }, (_, i) =>
        deltaEvent(`${user}#${String(i)} ${user.repeat(i)}`),
      ).join('');
      if (!isCut) expect(answer.text()).toBe(events + FINISH_EVENT + DONE_EVENT);
      else expect(answer.text().replace(/data: \{"error".*\}\n\n$/, '')).toBe(events);
      expect(answer.text().includes('[DONE]')).toBe(!isCut);
    });
  });

  it.each([
    ['a chat', streamRequest(), ''],
    ['a plain request', plain(), ''],
    [
      'a plain request whose upstream would have it kept',
      plain(),
      'cache-control: public, max-age=60\r\nx-accel-buffering: yes\r\n',
    ],
  ])('S5 forbids what stands in front to hold or keep the stream of %s', async (_, request, fields) => {
    world.engine.play(({ socket }) =>
      socket.write(STREAM_HEAD.replace('\r\n\r\n', `\r\n${fields}\r\n`) + chunk(deltaEvent('one')) + END),
    );
    const answer = await world.send(request);
    expect(answer.header('content-type')).toBe('text/event-stream');
    expect([answer.header('x-accel-buffering'), answer.header('cache-control')]).toEqual(['no', 'no-store']);
  });

  it('S6 forwards no condition and no range of a completion', async () => {
    world.engine.play(({ socket }) => socket.write(jsonAnswer()));
    const request = chatRequest();
    const conditions = ['range', 'if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since', 'if-range'];
    const fields = Object.fromEntries(conditions.map((name) => [name, name === 'range' ? 'bytes=0-1' : '"a"']));
    const answer = await world.send({ ...request, headers: { ...request.headers, ...fields } });
    expect(answer.status).toBe(200);
    expect(world.engine.requests[0]?.head.toLowerCase()).not.toMatch(/^(?:range|if-)/m);
  });

  const USAGE_EVENT = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"demo-chat","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}\n\n`;

  it.each([
    ['asked for it', { stream_options: { include_usage: true } }, true],
    ['did not ask for it', {}, false],
  ])('S7 counts the usage of a passing stream whose client %s, and changes nothing', async (_, members, shown) => {
    const tokens = async (kind: string) => (await world.gateway.metric('llm_tokens_total', { kind })) ?? 0;
    const before = [await tokens('prompt'), await tokens('completion')];
    world.engine.play(({ socket }) =>
      socket.write(
        STREAM_HEAD + [deltaEvent(TEXT), FINISH_EVENT, USAGE_EVENT, DONE_EVENT].map(chunk).join('') + LAST_CHUNK,
      ),
    );
    const answer = await world.send(streamRequest(members));
    expect(answer.text()).toBe(deltaEvent(TEXT) + FINISH_EVENT + (shown ? USAGE_EVENT : '') + DONE_EVENT);
    await eventually(async () => (await tokens('completion')) === (before[1] ?? 0) + 7);
    expect(await tokens('prompt')).toBe((before[0] ?? 0) + 11);
  });
});
