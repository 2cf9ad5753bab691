import { LineCounter, parseDocument, type Document } from 'yaml';
import { isObject } from '../json-differences.js';

/** How much of two answers has to be the same; the status and the headers always do. */
export const COMPARISONS = ['same', 'shape', 'status'] as const;
export type Comparison = (typeof COMPARISONS)[number];

/** What is no difference: names of headers (`x-kong-*` stands for many) and of JSON members. */
export interface Ignored {
  readonly headers: readonly string[];
  readonly members: readonly string[];
}

export interface ParityRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface ParityCase {
  readonly name: string;
  readonly groups: readonly string[];
  readonly request: ParityRequest;
  readonly compare: Comparison;
  readonly ignore: Ignored;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads a case file. Throws an Error with the file and line, what is wrong there, and what is allowed. */
export function parseCaseFile(text: string, file: string, env: Environment): readonly ParityCase[] {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const [broken] = document.errors;
  if (broken !== undefined)
    throw new Error(`${file}:${lines.linePos(broken.pos[0]).line} ${broken.message.split('\n')[0] ?? ''}`);
  return new CaseReader(document, lines, file, env).read();
}

type Path = readonly (string | number)[];

class CaseReader {
  constructor(
    private readonly document: Document,
    private readonly lines: LineCounter,
    private readonly file: string,
    private readonly env: Environment,
  ) {}

  read(): readonly ParityCase[] {
    const root = this.#object(this.document.toJS() as unknown, [], ['ignore', 'cases']);
    const ignore = this.#ignored(root['ignore'], ['ignore']);
    const cases = root['cases'];
    if (!Array.isArray(cases) || cases.length === 0)
      throw this.#fault(['cases'], 'must be a list of at least one case');
    const read = cases.map((one, at) => this.#case(one, ['cases', at], ignore));
    const names = read.map(({ name }) => name);
    const twice = names.findIndex((name, at) => names.indexOf(name) !== at);
    if (twice >= 0) throw this.#fault(['cases', twice, 'name'], 'is the name of another case too');
    return read;
  }

  #case(value: unknown, path: Path, common: Ignored): ParityCase {
    const fields = this.#object(value, path, ['name', 'groups', 'request', 'compare', 'ignore']);
    const own = this.#ignored(fields['ignore'], [...path, 'ignore']);
    const compare = COMPARISONS.find((one) => one === fields['compare']);
    if (compare === undefined) throw this.#fault([...path, 'compare'], `must be one of ${COMPARISONS.join(', ')}`);
    return {
      name: this.#text(fields['name'], [...path, 'name']),
      groups: this.#texts(fields['groups'], [...path, 'groups']),
      request: this.#request(fields['request'], [...path, 'request']),
      compare,
      ignore: { headers: [...common.headers, ...own.headers], members: [...common.members, ...own.members] },
    };
  }

  #request(value: unknown, path: Path): ParityRequest {
    const fields = this.#object(value, path, ['method', 'path', 'headers', 'json', 'text']);
    const method = this.#text(fields['method'], [...path, 'method']);
    if (!/^[A-Z]+$/u.test(method)) throw this.#fault([...path, 'method'], 'must be a method in capitals, such as POST');
    const target = this.#text(fields['path'], [...path, 'path']);
    if (!/^\/\S*$/u.test(target)) throw this.#fault([...path, 'path'], 'must begin with "/" and have no spaces');
    const { json, text } = fields;
    if (json !== undefined && text !== undefined)
      throw this.#fault([...path, 'text'], 'is given besides json: only one');
    const typed: Record<string, string> = json === undefined ? {} : { 'content-type': 'application/json' };
    return {
      method,
      path: target,
      headers: { ...typed, ...this.#headers(fields['headers'], [...path, 'headers']) },
      body: json === undefined ? this.#optionalText(text, [...path, 'text']) : JSON.stringify(json),
    };
  }

  #headers(value: unknown, path: Path): Record<string, string> {
    if (value === undefined) return {};
    const fields = this.#object(value, path);
    return Object.fromEntries(
      Object.entries(fields).map(([name, text]) => {
        const at = [...path, name];
        return [name.toLowerCase(), this.#fromEnvironment(this.#text(text, at), at)];
      }),
    );
  }

  /** Tokens are not written into files: `${NAME}` is taken from the environment. */
  #fromEnvironment(text: string, path: Path): string {
    return text.replace(/\$\{(\w+)\}/gu, (_, name: string) => {
      const value = this.env[name];
      if (value === undefined) throw this.#fault(path, `names the variable ${name}, which is not set`);
      return value;
    });
  }

  #ignored(value: unknown, path: Path): Ignored {
    if (value === undefined) return { headers: [], members: [] };
    const fields = this.#object(value, path, ['headers', 'members']);
    const headers = this.#texts(fields['headers'], [...path, 'headers']);
    return {
      headers: headers.map((name) => name.toLowerCase()),
      members: this.#texts(fields['members'], [...path, 'members']),
    };
  }

  #object(value: unknown, path: Path, allowed?: readonly string[]): Readonly<Record<string, unknown>> {
    if (!isObject(value)) throw this.#fault(path, 'must be a map');
    const stray = Object.keys(value).find((key) => allowed?.includes(key) === false);
    if (stray !== undefined)
      throw this.#fault([...path, stray], `is not known; there are ${allowed?.join(', ') ?? ''}`);
    return value;
  }

  #texts(value: unknown, path: Path): readonly string[] {
    if (value === undefined) return [];
    if (!Array.isArray(value)) throw this.#fault(path, 'must be a list of texts');
    return value.map((one, at) => this.#text(one, [...path, at]));
  }

  #optionalText(value: unknown, path: Path): string | undefined {
    return value === undefined ? undefined : this.#text(value, path);
  }

  #text(value: unknown, path: Path): string {
    if (typeof value !== 'string' || value === '') throw this.#fault(path, 'must be a text');
    return value;
  }

  #fault(path: Path, message: string): Error {
    const shown = path
      .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
      .join('')
      .replace(/^\./u, '');
    return new Error(`${this.file}:${this.#lineOf(path)} ${shown === '' ? 'the file' : shown} ${message}`);
  }

  /** Of the thing itself or, where it is missing, of what it is missing in. */
  #lineOf(path: Path): number {
    for (let depth = path.length; depth >= 0; depth--) {
      const node: unknown = this.document.getIn(path.slice(0, depth), true);
      if (isObject(node) && Array.isArray(node['range'])) return this.lines.linePos(Number(node['range'][0])).line;
    }
    return 1;
  }
}
