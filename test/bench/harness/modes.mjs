// What is measured: each mode with what it sends, to whom, and what a figure of it is.
import { HELD_MODEL } from './gateway-config.mjs';
import { inNarrowBand } from './held-queue.mjs';

const ALL = ['bare', 'dispatch', 'gateway', 'nginx', 'http-proxy', 'portkey'];
const asked = (names) => names.map((target) => ({ column: target, target }));

const KIB = { bodyBytes: 1024 };
const LARGE = { bodyBytes: 300_000 };

/**
 * The modes that compare processor time: all targets are up and warm, and short slices of load go round them. `warm` and
 * `slice` are shortened by --scale; a slice ends after its seconds at the latest, so that no slow target holds up a round.
 */
export const COMPARISONS = {
  unary: {
    title: 'request, 1 KB, 32 connections',
    kind: 'unary',
    order: { connections: 32, ...KIB },
    warm: { requests: 20_000, seconds: 8 },
    slice: { requests: 2_500, seconds: 0.6 },
    cells: asked(ALL),
  },
  alone: {
    title: 'request, 1 KB, one connection',
    kind: 'unary',
    order: { connections: 1, ...KIB },
    warm: { requests: 500, seconds: 1 },
    slice: { requests: 500, seconds: 0.5 },
    cells: asked(['direct', ...ALL]),
  },
  stream: {
    title: 'streamed chunk, 64 streams, one chunk each every 10 ms',
    kind: 'stream',
    order: { connections: 64, delayMs: 10 },
    warm: { chunks: 200 },
    slice: { chunks: 80 },
    cells: asked(['direct', ...ALL]),
  },
  messages: {
    title: 'the same chunk, translated for an Anthropic client',
    kind: 'stream',
    order: { connections: 64, delayMs: 10 },
    warm: { chunks: 200 },
    slice: { chunks: 80 },
    cells: [
      ...asked(['bare', 'dispatch']),
      { column: 'gateway', target: 'gateway', dialect: 'anthropic' },
      { column: 'gateway, not translated', target: 'gateway' },
    ],
  },
  rejected: {
    title: 'rejection, 1 KB, 32 connections',
    kind: 'unary',
    order: { connections: 32, ...KIB },
    warm: { requests: 5_000, seconds: 2 },
    slice: { requests: 2_500, seconds: 0.6 },
    cells: [
      ...asked(['bare', 'dispatch', 'gateway']),
      { column: 'bare, 503 alone', target: 'bare', refusing: 'status', status: 503 },
      { column: 'bare, refusing', target: 'bare', refusing: 'whole', status: 503 },
      { column: 'queue full', target: 'gateway', full: true, status: 503 },
      { column: 'no token', target: 'gateway', stranger: true, status: 401 },
    ],
  },
  large: {
    title: 'request, 300 KB, 8 connections',
    kind: 'unary',
    order: { connections: 8, ...LARGE },
    warm: { requests: 1_500, seconds: 4 },
    slice: { requests: 300, seconds: 0.6 },
    cells: asked(ALL),
  },
};

/** The others, in which a figure is not a slice of processor time. */
export const OTHERS = ['leaving', 'parked', 'growth'];
/** Too long for every day. */
const ON_DEMAND = ['growth'];

export const MODE_NAMES = [...Object.keys(COMPARISONS), ...OTHERS];
export const USUAL_MODES = MODE_NAMES.filter((name) => !ON_DEMAND.includes(name));

/** What everything is held against. */
export const BASELINE = 'bare';

/**
 * What the load generator is told to do for a cell of a mode. `stranger`: without a token; `full`: to a queue that is full;
 * `refusing`: how the bare relay is to refuse it.
 */
export function orderOf(mode, { target, stranger, full, refusing, dialect, status }, token) {
  const asked = target.to(stranger === true ? undefined : token, dialect);
  const to = refusing === undefined ? asked : { ...asked, headers: { ...asked.headers, 'x-bench-refuse': refusing } };
  const common = { ...mode.order, status, dialect, to };
  return full === true ? { ...common, model: HELD_MODEL, to: inNarrowBand(to) } : common;
}
