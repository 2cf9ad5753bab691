import fc from 'fast-check';
import { framesOf, official, renderedResponse, rendering } from '../../../../../test/support/rendered-responses.js';
import { chunk, cutAt, delta, DONE, SSE, text, USAGE } from '../../../../../test/support/rendered-stream.js';
import { objectOr, type JsonObject } from '../../../../../test/support/json.js';

const RUNS = { numRuns: 300 };

const words = fc.string({ unit: 'grapheme' });
/** A piece of an answer, as an engine may put it. */
const piece = fc.oneof(
  fc.record({ content: words }),
  fc.record({ reasoning_content: words }),
  fc.record({ refusal: words }),
  fc.record({ reasoning: fc.string(), content: fc.constantFrom(null, '') }),
  fc.record({ content: fc.constant(null), tool_calls: fc.constantFrom(null, []) }),
);
const argumentsText = fc.oneof(
  fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }).map((input) => JSON.stringify(input)),
  fc.constantFrom('', '{"cut":"a', 'no json'),
);
const calls = fc.array(argumentsText, { maxLength: 3 });
const reasons = fc.constantFrom('stop', 'tool_calls', 'length', 'content_filter');

const callOf = (args: string, index: number) => ({
  index,
  id: `call_${index}`,
  function: { name: `tool_${index}`, arguments: args },
});

/** The fragments of all calls, a few characters each, one call behind the other. */
const fragmentsOf = (all: readonly string[], size: number): object[] =>
  all.flatMap((args, index) => [
    { tool_calls: [callOf('', index)] },
    ...Array.from({ length: Math.ceil(args.length / size) }, (_, at) => ({
      tool_calls: [{ index, function: { arguments: args.slice(at * size, (at + 1) * size) } }],
    })),
  ]);

const eventsOf = (pieces: readonly object[], reason: string): string[] => [
  ...pieces.map((each) => delta(each)),
  delta({}, reason),
  chunk([], { usage: USAGE }),
  DONE,
];

const responseIn = (bytes: Uint8Array): JsonObject => objectOr(objectOr(framesOf(bytes).at(-1)?.data)['response']);

it('makes the same events of a stream, however its bytes are cut and its lines ended', () => {
  const cuts = fc.array(fc.nat({ max: 20_000 }), { maxLength: 12 });
  const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
  fc.assert(
    fc.property(fc.array(piece), calls, reasons, cuts, lineEnd, (pieces, all, reason, places, end) => {
      const events = eventsOf([...pieces, ...fragmentsOf(all, 4)], reason);
      const plain = renderedResponse(events.map((event) => Buffer.from(event))).toString();
      const noisy = events.map((event) => `: a comment\n\n${event}`).join('');
      const bytes = Buffer.from(noisy.replaceAll('\n', end));
      const within = places.map((place) => Math.min(place, bytes.length));
      expect(renderedResponse(cutAt(bytes, within)).toString()).toBe(plain);
    }),
    RUNS,
  );
});

it('says in its events what it says in its response, and the official client puts together the same', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 8 }), calls, reasons, async (pieces, all, reason) => {
      const out = renderedResponse(eventsOf([...pieces, ...fragmentsOf(all, 4)], reason));
      const { output, usage, status } = responseIn(out);
      const whole = await official(out);
      expect({ status: whole.status, usage: whole.usage }).toEqual({ status, usage });
      // Without the last event, which holds it all, the pieces have to come to the same.
      const pieced = await official(out, 1);
      expect(withoutParsed(pieced.output)).toEqual(output);
      expect(withoutParsed(whole.output)).toEqual(output);
    }),
    { numRuns: 100 },
  );
});

/** What the client adds for its own callers is taken away. */
const withoutParsed = (output: unknown): unknown =>
  JSON.parse(JSON.stringify(output, (name, value: unknown) => (name.startsWith('parsed') ? undefined : value)));

it('answers a whole answer with the response that a stream of the same ends with', () => {
  const whole = fc.record({ reasoning_content: words, content: words, refusal: words });
  fc.assert(
    fc.property(whole, calls, reasons, (said, all, reason) => {
      const message = { ...said, tool_calls: all.map(callOf) };
      const streamed = renderedResponse(eventsOf([said, ...fragmentsOf(all, 4)], reason));
      const one = rendering({ stream: false });
      one.begin(200, { 'content-type': 'application/json' });
      const answer = { choices: [{ index: 0, message, finish_reason: reason }], usage: USAGE };
      const { body } = one.whole(Buffer.from(JSON.stringify(answer)));
      expect(JSON.parse(Buffer.from(body).toString())).toEqual(responseIn(streamed));
    }),
    RUNS,
  );
});

it('keeps every text, thought and refusal', () => {
  fc.assert(
    fc.property(fc.array(piece), reasons, (pieces, reason) => {
      const { output } = responseIn(renderedResponse(eventsOf(pieces, reason)));
      const parts = (output as JsonObject[]).flatMap(({ content }) => content as JsonObject[]);
      const joined = (type: string, member: string): string =>
        parts
          .filter((part) => part['type'] === type)
          .map((part) => part[member])
          .join('');
      const said = (...names: string[]): string =>
        pieces
          .map((each) => names.map((name) => (each as Record<string, string | null>)[name] ?? '').join(''))
          .join('');
      expect(joined('output_text', 'text')).toBe(said('content'));
      expect(joined('refusal', 'refusal')).toBe(said('refusal'));
      expect(joined('reasoning_text', 'text')).toBe(said('reasoning_content', 'reasoning'));
    }),
    RUNS,
  );
});

it('never throws, never sends half an event and always counts on, whatever the engine sends', () => {
  const noise = fc.oneof(
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    fc.jsonValue().map((value) => Buffer.from(`data: ${JSON.stringify(value)}\n\n`)),
    fc.jsonValue().map((value) => Buffer.from(chunk([{ index: 0, delta: value, finish_reason: value }]))),
    fc
      .jsonValue()
      .map((value) => Buffer.from(delta({ tool_calls: [{ index: 0, function: value }, value], content: value }))),
    fc.constant(undefined),
  );
  fc.assert(
    fc.property(fc.array(noise, { maxLength: 8 }), (pieces) => {
      const one = rendering();
      one.begin(200, SSE);
      // Nothing from the engine is a heartbeat.
      const sent = pieces.map((each) => Buffer.from((each === undefined ? one.heartbeat() : one.push(each)) ?? []));
      const rest = one.end();
      const last = rest instanceof Error ? one.failure(rest) : rest;
      const out = Buffer.concat([...sent, Buffer.from(text(last))]);
      // The rules of the stream include that its events are numbered without a gap.
      framesOf(out, one.failed ? 'error' : 'complete');
    }),
    { numRuns: 1000 },
  );
});
