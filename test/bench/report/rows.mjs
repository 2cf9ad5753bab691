// The rows of the table: each is one figure of one mode, held against another column of the same round or start.

/** The columns of the table, and what they are called. */
export const COLUMNS = {
  bare: 'bare Node relay',
  dispatch: 'the same again',
  gateway: 'this gateway',
  nginx: 'nginx',
  'http-proxy': '@fastify/http-proxy',
  portkey: 'Portkey',
};

const numbers = (values) => values.map((value) => value ?? NaN);
/** One for each round of each start. */
const ofRounds = (figure) => (found) => found.map((start) => numbers(start[figure]));
/** One for each start. */
const ofStarts = (read) => (found) => found.map((start) => [read(start)]);
const streamKibibytes = ({ streams, idleMebibytes, heldMebibytes }) =>
  ((heldMebibytes - idleMebibytes) * 1024) / streams;

const quotient = (value, base) => value / base;
const addedMs = (value, base) => (value - base) / 1000;

/** Processor time. `shown`: which columns of the mode stand in which of the table; absent: each in its own. */
const cpu = (mode, label, more = {}) => ({
  ...{ mode, label, read: ofRounds('cpuMicros'), against: quotient, over: 'bare', unit: 'µs', ...more },
});
const latency = (figure, label, aim) => ({
  ...{ mode: 'alone', label, aim, read: ofRounds(figure), against: addedMs, over: 'bare' },
});
const leaving = (kind, label) => ({
  ...{ mode: 'leaving', label, aim: '≤ 1', read: ofStarts((start) => start[kind].p50Micros ?? NaN) },
  ...{ against: addedMs, over: 'direct' },
});
const parked = (label, more) => ({ mode: 'parked', label, ...more });
/** The last of ten readings to the second: by then the heap is as large as the work makes it. */
const growth = (what, label) => ({
  ...{
    mode: 'growth',
    label,
    aim: '1',
    read: ofStarts((start) => start[what].at(-1).mebibytes / start[what][1].mebibytes),
  },
});

export const ROWS = [
  cpu('unary', 'CPU per request, 1 KB, 32 connections', { aim: '≤ 1.5' }),
  cpu('alone', 'CPU per request, 1 KB, one connection'),
  cpu('large', 'CPU per request, 300 KB, 8 connections', { aim: '≤ 1.3' }),
  cpu('stream', 'CPU per streamed chunk', { aim: '≤ 1.15' }),
  cpu('messages', '… translated for Anthropic clients', { aim: '≤ 2' }),
  cpu('rejected', 'CPU per refusal, queue full, against a relayed request', {
    ...{ aim: '≤ 0.33', over: 'gateway', shown: { bare: 'bare, refusing', gateway: 'queue full' } },
  }),
  cpu('rejected', '… no token', {
    ...{ aim: '≤ 0.33', over: 'gateway', shown: { bare: 'bare, 503 alone', gateway: 'no token' } },
  }),
  latency('p50Micros', 'p50 at one connection, over the bare relay, ms', '≤ 0.3'),
  latency('p99Micros', 'p99 at one connection, over the bare relay, ms', '≤ 1'),
  parked('memory with 1,000 parked streams', {
    ...{
      aim: '≤ 1.5',
      read: ofStarts(({ heldMebibytes }) => heldMebibytes),
      against: quotient,
      over: 'bare',
      unit: 'MiB',
    },
  }),
  parked('memory for a parked stream, KiB', { read: ofStarts(streamKibibytes) }),
  parked('… that waits in the queue, KiB', {
    ...{ aim: 'half of that', read: ofStarts(streamKibibytes), shown: { gateway: 'gateway, waiting' } },
  }),
  leaving('idle', "client's close to engine's notice, over direct, p50 ms"),
  leaving('flowing', '… of a stream that flows'),
  growth('chunks', 'memory after 1,000,000 chunks, to that after a fifth of them'),
  growth('aborts', '… after 50,000 streams that were left'),
];

/**
 * What a row has for a column: one number for each round or start, `absolute` before it was held against another column.
 * undefined: it was not measured.
 */
export function cellOf(row, column, found) {
  const own = row.shown === undefined ? column : row.shown[column];
  const starts = found?.starts ?? [];
  const has = (name) => name !== undefined && starts.length > 0 && starts.every((start) => start[name] !== undefined);
  if (!has(own) || (row.over !== undefined && !has(row.over))) return undefined;
  const values = row.read(starts.map((start) => start[own]));
  if (row.over === undefined) return { values: values.flat(), absolute: values.flat() };
  const bases = row.read(starts.map((start) => start[row.over]));
  const held = values.map((some, start) => some.map((value, at) => row.against(value, bases[start][at])));
  return { values: held.flat(), absolute: values.flat(), isBase: own === row.over };
}
