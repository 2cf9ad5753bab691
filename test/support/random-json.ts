import fc from 'fast-check';

/** Choices for a renderer, one after the other and round again, so that a failing case shrinks and repeats. */
export type Choose = (options: number) => number;

export function chooser(tape: Uint8Array): Choose {
  let at = 0;
  return (options) => (tape[at++ % tape.length] ?? 0) % options;
}

export const tapes = fc.uint8Array({ minLength: 1, maxLength: 64 });

/** An object as a list of members, so that a name may come twice and the order is kept. */
export type Members = readonly (readonly [name: string, value: unknown])[];

const SPACES = ['', '', '', ' ', '\n', '\t', '\r\n', '  \n    '];
const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};
const codeEscape = (unit: string, upper: boolean): string => {
  const hex = unit.charCodeAt(0).toString(16).padStart(4, '0');
  return `\\u${upper ? hex.toUpperCase() : hex}`;
};

/** JSON text for the members, with white space, escapes and number formats as `choose` has them. */
export function renderMembers(members: Members, choose: Choose): string {
  const space = (): string => SPACES[choose(SPACES.length)] ?? '';
  const list = (items: readonly string[]): string => items.map((item) => space() + item + space()).join(',') || space();
  const text = (value: string): string => `"${value.split('').map(unit).join('')}"`;
  // Split by code unit: half of a pair is only ever written as an escape.
  const unit = (char: string): string => {
    if (/[\ud800-\udfff]/.test(char)) return codeEscape(char, choose(2) === 0);
    const short = SHORT[char];
    if (short !== undefined && (char !== '/' || choose(2) === 0))
      return choose(4) === 0 ? codeEscape(char, true) : short;
    return char < ' ' || choose(9) === 0 ? codeEscape(char, choose(2) === 0) : char;
  };
  const object = (entries: Members): string =>
    `{${list(entries.map(([name, value]) => `${text(name)}${space()}:${space()}${render(value)}`))}}`;
  const number = (value: number): string => (choose(5) === 0 ? value.toExponential() : JSON.stringify(value));
  const render = (value: unknown): string => {
    if (typeof value === 'string') return text(value);
    if (typeof value === 'number') return Number.isFinite(value) ? number(value) : 'null';
    if (Array.isArray(value)) return `[${list(value.map(render))}]`;
    if (typeof value === 'object' && value !== null) return object(Object.entries(value));
    return JSON.stringify(value);
  };
  return space() + object(members) + space();
}

/** A valid text that has been cut short, or has had one byte or slice of it replaced. */
export const damaged = (bytes: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> =>
  fc
    .tuple(bytes, fc.nat(), fc.nat(3), fc.constantFrom(...',:{}[]"\\0.eE-+ntf\u0000\n\u00ff /'.split('')))
    .map(([body, position, removed, put]) => {
      const at = position % (body.length + 1);
      return Buffer.concat([body.subarray(0, at), Buffer.from(put, 'latin1'), body.subarray(at + removed)]);
    });

/** The names at the top level of a valid JSON object, every one as often as it stands there. */
export function topLevelNames(text: string): string[] {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  let depth = 0;
  return tokens.flatMap((token, index) => {
    if (token === '{' || token === '[') depth++;
    if (token === '}' || token === ']') depth--;
    return depth === 1 && tokens[index + 1] === ':' ? [JSON.parse(token) as string] : [];
  });
}

/** How deep a value nests; a number nests 0 deep. */
export function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}
