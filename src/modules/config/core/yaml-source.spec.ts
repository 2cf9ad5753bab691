import type { Environment } from './substitute.js';
import { YamlSource } from './yaml-source.js';

const read = (text: string, env: Environment = {}): unknown => new YamlSource(text, env).data;

/** Each fault as `line:column path: message`. */
const faultsOf = (text: string, env: Environment = {}): readonly string[] =>
  new YamlSource(text, env).faults.map(
    ({ place, path, message }) => `${place.line}:${place.column} ${path}: ${message}`,
  );

describe('data', () => {
  it('is what the YAML says', () => {
    expect(read('a: 1\nb: [x, "1", true, null, 1.5]\nc: { d: 10s }\n')).toEqual({
      a: 1,
      b: ['x', '1', true, null, 1.5],
      c: { d: '10s' },
    });
  });

  it('is YAML 1.2: yes, on and 0o7 mean what they mean there', () => {
    expect(read('[yes, on, NO, 010, 1_000, 12:30]')).toEqual(['yes', 'on', 'NO', 10, '1_000', '12:30']);
  });

  it('may begin with a byte order mark and end its lines as Windows does', () => {
    expect(read('\uFEFFa: 1\r\nb: 2\r\n')).toEqual({ a: 1, b: 2 });
  });
});

describe('variables', () => {
  it('are typed where the value is written without quotes, and stay text where it is quoted', () => {
    const env = { N: '5', T: 'true', Z: '', S: 'words' };
    expect(read('a: ${N}\nb: "${N}"\nc: ${T}\nd: ${Z}\ne: \'${T}\'\nf: ${S}\ng: ${N}s\n', env)).toEqual({
      a: 5,
      b: '5',
      c: true,
      d: null,
      e: 'true',
      f: 'words',
      g: '5s',
    });
  });

  it('fall back where they are unset or empty', () => {
    expect(read('a: ${N:-3}\nb: "${N:-x}${M:-y}"\nc: ${M:-}\nd: "${E:-a:-b}"\n', { E: '' })).toEqual({
      a: 3,
      b: 'xy',
      c: null,
      d: 'a:-b',
    });
  });

  it('can add neither lines, keys, comments nor further variables', () => {
    const value = 'x\n  evil: 1 # no\n${OTHER}';
    expect(read('a: ${V}\nb: 1\n', { V: value, OTHER: 'leak' })).toEqual({ a: value, b: 1 });
  });

  it('are not looked for on the prototype of the environment', () => {
    expect(faultsOf('a: ${toString}')).toEqual([
      '1:4 a: the variable toString is not set, and ${toString} has no default',
    ]);
  });

  it.each([
    ['a: ${}', '1:4 a: "${}" is not ${NAME} or ${NAME:-default}'],
    ['a: ${1A}', '1:4 a: "${1A}" is not ${NAME} or ${NAME:-default}'],
    ['a: "${A"', '1:4 a: "${A" is not ${NAME} or ${NAME:-default}'],
    ['a: "${A-b}"', '1:4 a: "${A-b}" is not ${NAME} or ${NAME:-default}'],
    ['a: "${A}"', '1:4 a: the variable A is not set, and ${A} has no default'],
  ])('%s is a fault', (text, fault) => {
    expect(faultsOf(text)).toEqual([fault]);
  });

  it('hide their values, but not their defaults', () => {
    const source = new YamlSource('a: "${A}/${B}"\nb: "${C:-plain}"\nc: text\n', { A: 'secret', B: 'too' });
    expect(['a', 'b', 'c', 'd'].map((path) => source.shown(path))).toEqual([
      'the value of ${A} and ${B}',
      '"plain"',
      '"text"',
      'nothing',
    ]);
  });
});

describe('places', () => {
  const source = new YamlSource('server:\n  listen: "x"\n  empty:\nlist:\n  - a\n  - { k.1: 2 }\n', {});

  it.each([
    ['', { line: 1, column: 1 }],
    ['server.listen', { line: 2, column: 11 }],
    ['server.empty', { line: 3, column: 3 }],
    ['list[0]', { line: 5, column: 5 }],
    ['list[1]["k.1"]', { line: 6, column: 12 }],
    ['absent', undefined],
  ])('of the value %s', (path, place) => {
    expect(source.place(path)).toEqual(place);
  });

  it('of a key are where the key begins, and of an entry where the entry does', () => {
    expect(source.place('server', true)).toEqual({ line: 1, column: 1 });
    expect(source.place('list[1]', true)).toEqual({ line: 6, column: 5 });
  });
});

describe('faults', () => {
  it.each([
    ['a key written twice', 'a: 1\nb: 2\na: 3\n', ['3:1 a: is written twice']],
    ['a key that JavaScript takes for its own', 'a:\n  __proto__: { x: 1 }\n', ['2:3 a.__proto__: is not a key that any map may have']],
    ['constructor', '"constructor": 1', ['1:1 constructor: is not a key that any map may have']],
    ['a merge key', 'a:\n  <<: { x: 1 }\n', ['2:3 a["<<"]: merge keys are not taken: write the keys out']],
    ['an anchor', 'a: &x 1', ['1:7 a: anchors are not taken: write the value out where it is needed']],
    ['a tag', 'a: !!str 1', ['1:10 a: tags such as "tag:yaml.org,2002:str" are not taken']],
    ['a key that is no text', '? [a, b]\n: 1\n', ['1:3 : has a key that is not plain text']],
    ['a second document', 'a: 1\n---\nb: 2\n', [expect.stringMatching(/^2:1 : is not valid YAML: the file holds more than one document/u)]],
    ['a directive', '%YAML 1.1\n---\na: yes\n', ['1:1 : directives are not taken: the file is YAML 1.2']],
    ['a tab', 'a:\n\tb: 1\n', [expect.stringMatching(/^2:1 : is not valid YAML: tabs are not taken/u)]],
    ['an open quote', 'a: 1\nb: "x\n', [expect.stringMatching(/^3:1 : is not valid YAML: /u)]],
  ])('%s', (_what, text, faults) => {
    expect(faultsOf(text)).toEqual(faults);
  }); // prettier-ignore

  it('are told for every alias, and none is followed', () => {
    const bomb = ['a: &a [x, x]', 'b: &b [*a, *a]', 'c: [*b, *b]'].join('\n');
    const source = new YamlSource(bomb, {});
    expect(source.faults).toHaveLength(6);
    expect(source.data).toEqual({ a: ['x', 'x'], b: [null, null], c: [null, null] });
  });

  it('never change an object of the program', () => {
    read('__proto__: { polluted: 1 }\na: { constructor: { prototype: { polluted: 1 } } }\n');
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  it('stop at a depth that no setting has', () => {
    expect(faultsOf(`a: ${'['.repeat(30)}${']'.repeat(30)}`)).toEqual([
      expect.stringContaining('is nested deeper than 16 levels'),
    ]);
  });
});
