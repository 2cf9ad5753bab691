import { countFrom, objectFrom, type JsonObject } from './json.js';

/** How an answer's bytes are spoilt. `truncated`: half of it, then the socket closes; `hostile`: bytes that mean nothing. */
export type SpoiltBody = 'truncated' | 'hostile' | 'html';

/** What goes wrong with a stream, once it has sent so many events. */
export interface StreamFault {
  readonly afterEvents: number;
  /** `end`: a clean end without the last events; `silence`: nothing more, the socket stays open. */
  readonly way: 'reset' | 'half-event' | 'end' | 'silence' | 'error';
}

/** What goes wrong with the metrics page. */
export interface MetricsFaults {
  readonly delayMs?: number;
  /** The page comes when the step that runs is over, as from a server that computes and answers in one thread. */
  readonly waitForStep?: boolean;
  readonly status?: number;
  readonly hang?: boolean;
  readonly body?: SpoiltBody;
}

/** What goes wrong, until it is replaced. Absent members do no harm. */
export interface Faults {
  /** Requests it happens to (those for metrics not counted); absent: all. */
  readonly times?: number;
  readonly headDelayMs?: number;
  /** Answers with this status and an error of the engine's own making. */
  readonly status?: number;
  /** Takes the request and never answers. */
  readonly hang?: boolean;
  readonly body?: SpoiltBody;
  readonly stream?: StreamFault;
  readonly metrics?: MetricsFaults;
}

export const NO_FAULTS: Faults = {};

const isCount = (value: unknown): boolean => value === 0 || countFrom(value) !== undefined;
const isStatus = (value: unknown): boolean => isCount(value) && Number(value) >= 200 && Number(value) <= 599;
const isBoolean = (value: unknown): boolean => typeof value === 'boolean';
const isOneOf =
  (...allowed: string[]) =>
  (value: unknown): boolean =>
    allowed.some((one) => one === value);
const isBody = isOneOf('truncated', 'hostile', 'html');
const has =
  (members: Readonly<Record<string, (value: unknown) => boolean>>) =>
  (value: unknown): boolean => {
    const object = objectFrom(value);
    return object !== undefined && Object.entries(object).every(([key, entry]) => members[key]?.(entry) === true);
  };

const MEMBERS: Readonly<Record<string, (value: unknown) => boolean>> = {
  times: isCount,
  headDelayMs: isCount,
  status: isStatus,
  hang: isBoolean,
  body: isBody,
  stream: has({ afterEvents: isCount, way: isOneOf('reset', 'half-event', 'end', 'silence', 'error') }),
  metrics: has({ delayMs: isCount, waitForStep: isBoolean, status: isStatus, hang: isBoolean, body: isBody }),
};

/** Reads faults from JSON. Throws an Error that names the member it cannot use. */
export function parseFaults(value: unknown): Faults {
  const object: JsonObject | undefined = objectFrom(value);
  if (object === undefined) throw new Error('faults are a JSON object');
  for (const [key, entry] of Object.entries(object)) {
    if (MEMBERS[key] === undefined)
      throw new Error(`"${key}" is no fault; there are ${Object.keys(MEMBERS).join(', ')}`);
    if (!MEMBERS[key](entry)) throw new Error(`"${key}" has a value that is not usable`);
  }
  return { ...(object as Faults), ...streamFault(object) };
}

const streamFault = (object: JsonObject): Pick<Faults, 'stream'> => {
  const stream = objectFrom(object['stream']);
  return stream === undefined ? {} : { stream: { afterEvents: 0, way: 'reset', ...(stream as Partial<StreamFault>) } };
};

export const HOSTILE_BYTES = Buffer.concat([
  Buffer.from('{"choices": [{"\u0000": '),
  Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0xe2, 0x82]),
  Buffer.from(`\r\n\r\ndata:\r# HELP ${'x'.repeat(4_096)}{le="}" NaN\n__proto__`),
]);

export const HTML_PAGE = '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>nginx</body>\r\n</html>\r\n';
