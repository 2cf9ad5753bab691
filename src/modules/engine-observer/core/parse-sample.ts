/** One series at one moment. */
export interface Sample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  /** As written: it may be NaN, infinite or negative. */
  readonly value: number;
}

const LABEL_START = /([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*"/y;
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/iu;
const NOT_FINITE = /^[+-]?(?:nan|inf|infinity)$/iu;
/** No number is written with more characters than this. */
const MAX_NUMBER_LENGTH = 64;
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\\', '\\'],
  ['"', '"'],
  ['n', '\n'],
]);

/** Reads what stands behind the name on a line of the text format. undefined: the line is broken. */
export function parseSample(name: string, rest: string): Sample | undefined {
  const labels = new Map<string, string>();
  const start = skipBlanks(rest, 0);
  const end = rest[start] === '{' ? readLabels(rest, start + 1, labels) : start;
  const value = end === undefined ? undefined : parseValue(rest.slice(end));
  return value === undefined ? undefined : { name, labels, value };
}

/** Reads up to the closing brace and says where the value begins. */
function readLabels(text: string, from: number, into: Map<string, string>): number | undefined {
  let at = skipBlanks(text, from);
  while (text[at] !== '}') {
    const end = readLabel(text, at, into);
    if (end === undefined) return undefined;
    at = skipBlanks(text, end);
    if (text[at] === ',') at = skipBlanks(text, at + 1);
    else if (text[at] !== '}') return undefined;
  }
  return at + 1;
}

function readLabel(text: string, from: number, into: Map<string, string>): number | undefined {
  LABEL_START.lastIndex = from;
  const [start = '', name] = LABEL_START.exec(text) ?? [];
  if (name === undefined || into.has(name)) return undefined;
  const quoted = readQuoted(text, from + start.length);
  if (quoted === undefined) return undefined;
  into.set(name, quoted.value);
  return quoted.end;
}

/** A backslash that escapes nothing known stands for itself. */
function readQuoted(text: string, from: number): { value: string; end: number } | undefined {
  let value = '';
  let taken = from;
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '"') return { value: value + text.slice(taken, at), end: at + 1 };
    if (text[at] !== '\\') continue;
    const escaped = ESCAPES.get(text[at + 1] ?? '');
    if (escaped !== undefined) {
      value += text.slice(taken, at) + escaped;
      taken = at + 2;
    }
    at += 1;
  }
  return undefined;
}

/** A value, perhaps with a timestamp and an exemplar behind it: those say nothing that is needed. */
function parseValue(text: string): number | undefined {
  const exemplar = text.indexOf(' #');
  const plain = exemplar < 0 ? text : text.slice(0, exemplar);
  const [value = '', timestamp, ...more] = plain.trim().split(/[ \t]+/u);
  if (more.length > 0 || (timestamp !== undefined && parseNumber(timestamp) === undefined)) return undefined;
  return parseNumber(value);
}

function parseNumber(text: string): number | undefined {
  if (text.length > MAX_NUMBER_LENGTH) return undefined;
  if (NUMBER.test(text)) return Number(text);
  if (!NOT_FINITE.test(text)) return undefined;
  if (/nan/iu.test(text)) return NaN;
  return text.startsWith('-') ? -Infinity : Infinity;
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ' || text[at] === '\t') at += 1;
  return at;
}
