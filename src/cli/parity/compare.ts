import { differencesOf, isObject, jsonIn, type Difference } from '../json-differences.js';
import type { Comparison, Ignored } from './case-file.js';
import type { Answer } from './fetch-answer.js';
import { overlaid, shapeOf } from './shape.js';

/** Never the same twice, or only about the connection. */
const VOLATILE_HEADERS = [
  ...['connection', 'content-length', 'date', 'keep-alive', 'request-id', 'transfer-encoding', 'x-llmgw-queue-ms'],
  'x-request-id',
];

/** Everything in which two answers to one request differ. */
export function compareAnswers(
  left: Answer,
  right: Answer,
  compare: Comparison,
  ignore: Ignored,
): readonly Difference[] {
  // Two that fail alike have shown nothing, so that is a difference too.
  if (left.failure !== undefined || right.failure !== undefined)
    return [{ path: 'failure', left: left.failure, right: right.failure }];
  return [
    ...difference('status', left.status, right.status),
    ...headerDifferences(left, right, compare === 'status' ? (name) => name !== 'content-type' : test(ignore.headers)),
    ...(compare === 'status' ? [] : bodyDifferences(left, right, compare, ignore)),
  ];
}

const difference = (path: string, left: unknown, right: unknown): readonly Difference[] =>
  left === right ? [] : [{ path, left, right }];

/** Names that a list holds; a star at the end stands for any rest. */
function test(ignored: readonly string[]): (name: string) => boolean {
  const names = new Set([...VOLATILE_HEADERS, ...ignored]);
  const beginnings = ignored.flatMap((name) => (name.endsWith('*') ? [name.slice(0, -1)] : []));
  return (name) => names.has(name) || beginnings.some((beginning) => name.startsWith(beginning));
}

function headerDifferences(left: Answer, right: Answer, ignored: (name: string) => boolean): readonly Difference[] {
  const names = new Set([...Object.keys(left.headers), ...Object.keys(right.headers)]);
  return [...names]
    .filter((name) => !ignored(name))
    .sort()
    .flatMap((name) =>
      difference(`header ${name}`, String(left.headers[name] ?? ''), String(right.headers[name] ?? '')),
    )
    .map(({ path, left: one, right: other }) => ({ path, left: one || undefined, right: other || undefined }));
}

function bodyDifferences(
  left: Answer,
  right: Answer,
  compare: Comparison,
  { members }: Ignored,
): readonly Difference[] {
  const read = compare === 'shape' ? readShape : readBody;
  const ignored = new Set(members);
  const found = differencesOf(read(left), read(right), (name) => ignored.has(name));
  return found.map((one) => ({ ...one, path: one.path === '' ? 'body' : `body ${one.path}` }));
}

/** JSON as it is, a stream as its events, anything else as its text. */
function readBody({ headers, body }: Answer): unknown {
  if (isStream(headers['content-type'])) return { events: eventsIn(body) };
  return jsonIn(body) ?? body;
}

/** Of a stream: what its events are, all laid over each other, and how it ends. */
function readShape(answer: Answer): unknown {
  const read = readBody(answer);
  if (!isStream(answer.headers['content-type']) || !isObject(read)) return shapeOf(read);
  const events = eventsIn(answer.body);
  const kinds = [...new Set(events.map(({ event }) => event))].sort();
  const data = events.map((one) => one.data).filter(isObject);
  const last = events.at(-1);
  return {
    kinds,
    data: data.map(shapeOf).reduce(overlaid, 'nothing'),
    end: isObject(last?.data) ? last.event : last?.data,
  };
}

const isStream = (type: string | undefined): boolean => type?.startsWith('text/event-stream') === true;

interface StreamEvent {
  readonly event: string;
  readonly data: unknown;
}

/** Events with data; comments keep a connection alive and say nothing. */
function eventsIn(body: string): readonly StreamEvent[] {
  return body.split(/\r?\n\r?\n/u).flatMap((block) => {
    const fields = block.split(/\r?\n/u);
    const data = fields.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trimStart());
    if (data.length === 0) return [];
    const event =
      fields
        .find((line) => line.startsWith('event:'))
        ?.slice(6)
        .trim() ?? 'message';
    const text = data.join('\n');
    return [{ event, data: jsonIn(text) ?? text }];
  });
}
