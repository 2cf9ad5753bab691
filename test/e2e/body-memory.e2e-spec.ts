import {
  chatRequest,
  chunk,
  DONE_EVENT,
  FINISH_EVENT,
  jsonAnswer,
  LAST_CHUNK,
  STREAM_HEAD,
} from '../support/chat-wire.js';
import { EngineWorld } from '../support/engine-world.js';

const KIB = 1024;
const SIZES = [KIB, 20 * KIB, 100 * KIB, 300 * KIB, 300 * KIB + 1, 700 * KIB];
const STREAM = `${STREAM_HEAD}${chunk(FINISH_EVENT)}${chunk(DONE_EVENT)}${LAST_CHUNK}`;
const AT_ONCE = 24;
const ROUNDS = 5;

interface Sent {
  readonly stream?: boolean;
  readonly stream_options?: unknown;
  readonly messages: readonly { readonly content: string }[];
}

/** A text by which its request is known, wherever it is cut. */
const textOf = (at: number): string => String.fromCharCode(97 + (at % 26)).repeat((SIZES[at % SIZES.length] ?? 0) + at);

/** Their memory goes back as soon as it can, and the next ones get it. */
it('gives every engine the body of its own request, however many are on their way', async () => {
  const world = await EngineWorld.start({ operations: { chat: { maxBody: '2MiB' } } });
  try {
    world.engine.play(({ body, socket }) => socket.write(body.includes('"stream":true') ? STREAM : jsonAnswer()));
    const ask = (at: number) =>
      world.send(chatRequest({ stream: at % 2 === 0, messages: [{ role: 'user', content: textOf(at) }] }));
    for (let round = 0; round < ROUNDS; round++) {
      const all = Array.from({ length: AT_ONCE }, (_, at) => round * AT_ONCE + at);
      const answers = await Promise.all(all.map(ask));
      expect(answers.map(({ status }) => status)).toEqual(all.map(() => 200));
    }
    const sent = world.engine.requests.map(({ body }) => JSON.parse(body.toString()) as Sent);
    const texts = sent.map(({ messages }) => messages[0]?.content ?? '');
    expect(new Set(texts)).toEqual(new Set(Array.from({ length: ROUNDS * AT_ONCE }, (_, at) => textOf(at))));
    expect(sent.every(({ stream, stream_options: options }) => (stream === true) === (options !== undefined))).toBe(
      true,
    );
  } finally {
    await world.stop();
  }
}, 30_000);
