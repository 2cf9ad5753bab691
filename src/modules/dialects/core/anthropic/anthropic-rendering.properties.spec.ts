import fc from 'fast-check';
import { foldStream } from '../../../../../test/support/fold-stream.js';
import { framesOf, renderedMessages } from '../../../../../test/support/rendered-messages.js';
import { cutAt, delta, DONE, USAGE, chunk } from '../../../../../test/support/rendered-stream.js';

const RUNS = { numRuns: 300 };

/** A piece of an answer, as an engine may put it. */
const piece = fc.oneof(
  fc.record({ content: fc.string({ unit: 'grapheme' }) }),
  fc.record({ reasoning_content: fc.string({ unit: 'grapheme' }) }),
  fc.record({ reasoning: fc.string(), content: fc.constantFrom(null, '') }),
  fc.record({ content: fc.constant(null), tool_calls: fc.constantFrom(null, []) }),
);
const callAt = (index: number) =>
  fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }).map((input) => ({
    id: `call_${index}`,
    name: `tool_${index}`,
    input: { ...input },
  }));
const calls = fc
  .integer({ min: 0, max: 3 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, at) => callAt(at))));
const cuts = fc.array(fc.nat({ max: 20_000 }), { maxLength: 12 });
const lineEnd = fc.constantFrom('\n', '\r\n', '\r');

const pieceOf = (call: { id: string; name: string }, index: number, args: string, first: boolean) => ({
  tool_calls: [
    {
      index,
      ...(first ? { id: call.id, type: 'function' } : {}),
      function: { ...(first ? { name: call.name } : {}), arguments: args },
    },
  ],
});

/** The fragments of all calls, a few characters each, in turn. */
function interleaved(all: readonly { id: string; name: string; input: object }[], size: number): object[] {
  const texts = all.map(({ input }) => JSON.stringify(input));
  const rounds = Math.max(0, ...texts.map((text) => Math.ceil(text.length / size)));
  return Array.from({ length: rounds }, (_, round) =>
    all.flatMap((call, index) => {
      const args = texts[index]?.slice(round * size, (round + 1) * size) ?? '';
      return args === '' ? [] : [pieceOf(call, index, args, round === 0)];
    }),
  ).flat();
}

/** The fragments in their order, with pieces between them. */
function woven(pieces: readonly object[], fragments: readonly object[], places: readonly number[]): object[] {
  const out = pieces.map((piece, at) => ({ piece, place: (places[at] ?? 0) % (fragments.length + 1) }));
  return [...fragments.keys(), fragments.length].flatMap((place) => [
    ...out.filter((each) => each.place === place).map(({ piece }) => piece),
    ...fragments.slice(place, place + 1),
  ]);
}

const bytesOf = (events: readonly string[], end: string): Buffer =>
  Buffer.from(
    events
      .map((event) => `: a comment\n\n${event}`)
      .join('')
      .replaceAll('\n', end),
  );

it('makes the same events of a stream, however its bytes are cut and its lines ended', () => {
  fc.assert(
    fc.property(
      fc.array(piece),
      calls,
      fc.integer({ min: 1, max: 9 }),
      cuts,
      lineEnd,
      (pieces, all, size, places, end) => {
        const deltas = [...pieces, ...interleaved(all, size)].map((each) => delta(each));
        const events = [...deltas, delta({}, 'stop'), chunk([], { usage: USAGE }), DONE];
        const plain = renderedMessages([Buffer.from(events.join(''))]).toString();
        const bytes = bytesOf(events, end);
        const within = places.map((place) => Math.min(place, bytes.length));
        expect(renderedMessages(cutAt(bytes, within)).toString()).toBe(plain);
      },
    ),
    RUNS,
  );
});

it('keeps every text, thought and input, under the rules of the dialect', () => {
  const places = fc.array(fc.nat());
  fc.assert(
    fc.property(fc.array(piece), calls, fc.integer({ min: 1, max: 9 }), places, (given, all, size, at) => {
      const sent = woven(given, interleaved(all, size), at);
      const pieces = sent.filter((each) => (given as object[]).includes(each));
      const deltas = sent.map((each) => delta(each));
      const out = renderedMessages([...deltas, delta({}, 'stop'), DONE]);
      const blocks = foldStream('anthropic', framesOf(out))['content'] as Record<string, unknown>[];
      const joined = (type: string, member: string): string =>
        blocks
          .filter((block) => block['type'] === type)
          .map((block) => block[member])
          .join('');
      const said = (...names: string[]): string =>
        pieces
          .map((each) => names.map((name) => (each as Record<string, string | null>)[name] ?? '').join(''))
          .join('');
      expect(joined('text', 'text')).toBe(said('content'));
      expect(joined('thinking', 'thinking')).toBe(said('reasoning_content', 'reasoning'));
      expect(blocks.filter(({ type }) => type === 'tool_use')).toEqual(
        all.map(({ id, name, input }) => ({
          type: 'tool_use',
          id,
          name,
          input: JSON.parse(JSON.stringify(input)) as unknown,
        })),
      );
    }),
    RUNS,
  );
});

it('never throws and never sends half an event, whatever the engine sends', () => {
  const noise = fc.oneof(
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    fc.jsonValue().map((value) => Buffer.from(`data: ${JSON.stringify(value)}\n\n`)),
    fc.jsonValue().map((value) => Buffer.from(chunk([{ index: 0, delta: value, finish_reason: value }]))),
    fc
      .jsonValue()
      .map((value) => Buffer.from(delta({ tool_calls: [{ index: 0, function: value }, value], content: value }))),
  );
  fc.assert(
    fc.property(fc.array(noise, { maxLength: 8 }), (pieces) => {
      const out = renderedMessages(pieces).toString();
      const isComplete = out.includes('event: message_stop\n');
      framesOf(Buffer.from(out), isComplete ? 'complete' : 'error');
    }),
    { numRuns: 1000 },
  );
});
