import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, Scalar, type Document, type Pair } from 'yaml';
import { itemPath, pathOf, quoted, ROOT, type Finding } from './finding.js';
import { substitute, type Environment } from './substitute.js';
import { firstAtEachPlace, isStackOverflow, messageOf, TOO_DEEP } from './yaml-errors.js';

/** Line and column, both from 1 on. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

interface Mark {
  readonly value: Place;
  readonly key: Place;
  readonly shown: string;
}

/** Keys that mean something else to JavaScript than to the file. */
const POISONED_KEYS = new Set(['__proto__', 'constructor', 'prototype']);
/** Far deeper than any setting lies. */
const MAX_DEPTH = 16;

/** A finding of the reader itself, which knows its place at once. */
export interface PlacedFinding extends Finding {
  readonly place: Place;
  /** There is no value to judge any further: the data has null instead. */
  readonly voids: boolean;
}

/** The data of a YAML document, which remembers where everything stood and which values the environment gave. */
export class YamlSource {
  /** Plain values. What could not be read is null. */
  readonly data: unknown = null;
  readonly faults: readonly PlacedFinding[];
  readonly #marks = new Map<string, Mark>();
  readonly #found: PlacedFinding[] = [];
  readonly #lines = new LineCounter();
  readonly #document: Document | undefined;

  constructor(
    text: string,
    private readonly env: Environment,
  ) {
    this.faults = this.#found;
    this.#document = this.#parsed(text);
    if (this.#document !== undefined) this.data = this.#read(this.#document.contents, ROOT, undefined, 0);
  }

  /** Where a path stands; undefined: the document has no such path. */
  place(path: string, onKey = false): Place | undefined {
    const mark = this.#marks.get(path);
    return onKey ? mark?.key : mark?.value;
  }

  /** The text is not one YAML document: there is no data, and `faults` say why. */
  get unreadable(): boolean {
    return this.#document === undefined;
  }

  /** The value of a path as messages may show it. */
  shown(path: string): string {
    return this.#marks.get(path)?.shown ?? 'nothing';
  }

  /** undefined: it is not one YAML document, and why has been found. */
  #parsed(text: string): Document | undefined {
    try {
      const options = { lineCounter: this.#lines, prettyErrors: false, uniqueKeys: false, version: '1.2' } as const;
      const document: Document = parseDocument(text, options);
      const errors = [...document.errors, ...document.warnings];
      for (const [offset, error] of firstAtEachPlace(errors)) this.#reject(ROOT, offset, messageOf(error));
      if (document.directives?.yaml.explicit === true)
        this.#reject(ROOT, 0, 'directives are not taken: the file is YAML 1.2');
      return this.#found.length > 0 ? undefined : document;
    } catch (error) {
      if (!isStackOverflow(error)) throw error;
      this.#reject(ROOT, 0, TOO_DEEP);
      return undefined;
    }
  }

  #read(node: unknown, path: string, key: Scalar | undefined, depth: number): unknown {
    this.#marks.set(path, this.#markOf(node, key));
    if (depth > MAX_DEPTH) return this.#refuse(node, path, `is nested deeper than ${MAX_DEPTH} levels`);
    if (isAlias(node)) return this.#refuse(node, path, 'aliases are not taken: write the value out');
    this.#rejectProperties(node, path);
    if (isMap(node)) return this.#readMap(node.items, path, depth);
    if (isSeq(node))
      return node.items.map((item, index) => this.#read(item, itemPath(path, index), undefined, depth + 1));
    return isScalar(node) ? this.#readScalar(node, path) : null;
  }

  #rejectProperties(node: unknown, path: string): void {
    if (!isMap(node) && !isSeq(node) && !isScalar(node)) return;
    const offset = offsetOf(node) ?? 0;
    if (node.anchor !== undefined)
      this.#reject(path, offset, 'anchors are not taken: write the value out where it is needed');
    if (node.tag !== undefined) this.#reject(path, offset, `tags such as ${quoted(node.tag)} are not taken`);
  }

  #readMap(pairs: readonly Pair[], path: string, depth: number): Record<string, unknown> {
    const map: Record<string, unknown> = {};
    for (const { key, value } of pairs) {
      const name = this.#keyName(key, path);
      if (name === undefined || !isScalar(key)) continue;
      const inside = pathOf(path, name);
      if (Object.hasOwn(map, name)) this.#reject(inside, offsetOf(key) ?? 0, 'is written twice');
      else map[name] = this.#read(value, inside, key, depth + 1);
    }
    return map;
  }

  /** undefined: no key that a map of settings may have. */
  #keyName(key: unknown, path: string): string | undefined {
    const offset = offsetOf(key) ?? 0;
    if (!isScalar(key)) {
      this.#reject(path, offset, 'has a key that is not plain text');
      return undefined;
    }
    const name = key.source ?? String(key.value);
    this.#rejectProperties(key, pathOf(path, name));
    if (POISONED_KEYS.has(name)) this.#reject(pathOf(path, name), offset, 'is not a key that any map may have');
    else if (name === '<<' && key.type === 'PLAIN')
      this.#reject(pathOf(path, name), offset, 'merge keys are not taken: write the keys out');
    else return name;
    return undefined;
  }

  #readScalar(node: Scalar, path: string): unknown {
    const written = typeof node.value === 'string' ? node.value : (node.source ?? '');
    if (!written.includes('${')) return node.value;
    const { text, from, faults } = substitute(written, this.env);
    if (faults.length > 0) return faults.map((fault) => this.#refuse(node, path, fault))[0];
    const value = node.type === Scalar.PLAIN ? this.#typed(text) : text;
    const shown = from.length > 0 ? `the value of ${from.map((name) => `\${${name}}`).join(' and ')}` : quoted(value);
    const mark = this.#marks.get(path);
    if (mark !== undefined) this.#marks.set(path, { ...mark, shown });
    return value;
  }

  /** What the text would be if the file had it without quotes: the schema's own tests decide. */
  #typed(text: string): unknown {
    for (const tag of this.#document?.schema.tags ?? []) {
      if (tag.collection !== undefined || tag.default !== true || tag.test?.test(text) !== true) continue;
      const resolved: unknown = tag.resolve(text, () => undefined, {});
      return isScalar(resolved) ? resolved.value : resolved;
    }
    return text;
  }

  #refuse(node: unknown, path: string, message: string): null {
    this.#reject(path, offsetOf(node) ?? 0, message, true);
    return null;
  }

  #reject(path: string, offset: number, message: string, voids = false): void {
    this.#found.push({ path, message, place: this.#placeOf(offset), voids });
  }

  #markOf(node: unknown, key: Scalar | undefined): Mark {
    const keyPlace = this.#placeOf(offsetOf(key) ?? offsetOf(node) ?? 0);
    const written = isEmpty(node) ? undefined : offsetOf(node);
    const value = written === undefined ? keyPlace : this.#placeOf(written);
    const shown = isScalar(node) ? quoted(node.value) : isSeq(node) ? 'a list' : isMap(node) ? 'a map' : 'null';
    return { value, key: keyPlace, shown };
  }

  #placeOf(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  }
}

/** A key without a value: its place would be that of whatever comes next. */
const isEmpty = (node: unknown): boolean => node === null || (isScalar(node) && node.range?.[0] === node.range?.[1]);

function offsetOf(node: unknown): number | undefined {
  return isAlias(node) || isMap(node) || isSeq(node) || isScalar(node) ? node.range?.[0] : undefined;
}
