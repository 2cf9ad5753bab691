/** A request as somebody wrote it down, and as it goes over the wire. */
export interface WrittenRequest {
  /** Its first line, for the report. */
  readonly line: string;
  /** Names as they were written. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  readonly bytes: Buffer;
}

const FIRST_LINE = /^([A-Za-z]+) (\/\S*)(?: (HTTP\/\d\.\d))?$/u;
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/u;

/**
 * Reads a request: `POST /path`, with or without ` HTTP/1.1`, header lines if there are any, and the body, behind an empty
 * line or right away. What a client adds by itself (host, content-type, content-length) may be left out. Throws an Error
 * that says what is wrong with it.
 */
export function readRequestText(input: Buffer): WrittenRequest {
  const [first, ...rest] = linesOf(input);
  const [, method, target, version = 'HTTP/1.1'] = FIRST_LINE.exec(first?.text ?? '') ?? [];
  if (first === undefined || method === undefined || target === undefined)
    throw new Error(
      `the first line must be METHOD /path, such as POST /v1/chat/completions, not ${quoted(first?.text ?? '')}`,
    );
  const { headers, bodyStart } = readHead(rest, first.end);
  const body = input.subarray(bodyStart);
  const line = `${method.toUpperCase()} ${target}`;
  const head = [`${line} ${version}`, ...withImplied(headers, body).map(([name, value]) => `${name}: ${value}`)];
  const bytes = Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
  return { line, headers, body, bytes };
}

interface Line {
  readonly text: string;
  /** Where the next one begins. */
  readonly end: number;
}

/** The lines up to the first that is no part of a head: bodies are bytes, and not read as lines. */
function linesOf(input: Buffer): Line[] {
  const lines: Line[] = [];
  let start = 0;
  while (start < input.length) {
    const feed = input.indexOf(0x0a, start);
    const end = feed < 0 ? input.length : feed + 1;
    const text = input.toString('latin1', start, end).replace(/\r?\n$/u, '');
    lines.push({ text, end });
    if (lines.length > 1 && !FIELD.test(text)) break;
    start = end;
  }
  return lines;
}

function readHead(lines: readonly Line[], start: number): Pick<WrittenRequest, 'headers'> & { bodyStart: number } {
  const headers: [string, string][] = [];
  let bodyStart = start;
  for (const { text, end } of lines) {
    const [, name, value = ''] = FIELD.exec(text) ?? [];
    if (name === undefined) return { headers, bodyStart: text === '' ? end : bodyStart };
    headers.push([name, value]);
    bodyStart = end;
  }
  return { headers, bodyStart };
}

function withImplied(headers: WrittenRequest['headers'], body: Buffer): WrittenRequest['headers'] {
  const names = new Set(headers.map(([name]) => name.toLowerCase()));
  const framed = names.has('content-length') || names.has('transfer-encoding');
  const implied: (readonly [string, string])[] = [
    ['host', 'localhost'],
    ['connection', 'close'],
    ...(body.length === 0 ? [] : ([['content-type', 'application/json']] as const)),
    ...(body.length === 0 || framed ? [] : ([['content-length', String(body.length)]] as const)),
  ];
  return [...headers, ...implied.filter(([name]) => !names.has(name))];
}

const quoted = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 59)}…` : text);
