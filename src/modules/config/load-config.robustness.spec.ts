import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { ConfigFaults, loadConfig, parseConfig } from './load-config.js';

const example = readFileSync('config/gateway.yaml', 'utf8');

/** Anything but faults goes through, and fails the test. */
function faultsOf(text: string): readonly string[] {
  try {
    parseConfig(text, 'gateway.yaml', { A: 'x: y', B: '1', C: '' });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigFaults)) throw error;
    return error.faults.map(String);
  }
}

describe('a file that cannot be read', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-config-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const fileWith = (name: string, content: string | Buffer): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };

  it.each([
    [() => join(folder, 'absent.yaml'), ':1:1 (file): cannot be read: there is no such file'],
    [() => join(folder, 'a\0b'), ':1:1 (file): cannot be read: '],
    [() => folder, ':1:1 (file): cannot be read: it is not a file'],
    [() => '/dev/zero', ':1:1 (file): cannot be read: it is not a file'],
    [() => fileWith('empty.yaml', ''), ':1:1 (file): is empty'],
    [() => fileWith('comment.yaml', '# nothing\n---\n'), '(file): is empty'],
    [
      () => fileWith('latin1.yaml', Buffer.from('server:\n  a: \xe9\n', 'latin1')),
      ':2:6 (file): holds bytes that are not UTF-8',
    ],
    [() => fileWith('large.yaml', '#'.repeat(1_048_577)), ':1:1 (file): is larger than 1048576 bytes'],
  ])('case %#', (file, fault) => {
    expect(() => loadConfig(file(), {})).toThrow(ConfigFaults);
    expect(() => loadConfig(file(), {})).toThrow(fault);
  });
});

describe('whatever the text', () => {
  const survives = (text: string): void => void faultsOf(text);

  it('nothing but faults is thrown for random text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), survives), { numRuns: 300 });
  });

  it('nothing but faults is thrown for text made of the pieces of YAML', () => {
    const piece = fc.constantFrom(
      'server', ':', ': ', '\n', '\n  ', '- ', '{', '}', '[', ']', ',', '&a ', '*a', '!!str ', '!x ', '<<', '? ', '"', "'", '|', '>', '---\n',
      '...', '%YAML 1.1\n', '\t', '#', '${A}', '${B:-2}', '${', '${C}', 'null', '~', '1e999', '.nan', '0x1', '__proto__', 'constructor', 'models',
      'bands', 'admission', '10s', 'true',
    ); // prettier-ignore
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join('')),
        survives,
      ),
      { numRuns: 1_000 },
    );
  });

  it('nothing but faults is thrown for the example with a piece cut out', () => {
    const cut = fc
      .tuple(fc.nat(example.length), fc.nat(400))
      .map(([from, length]) => example.slice(0, from) + example.slice(from + length));
    fc.assert(fc.property(cut, survives), { numRuns: 100 });
  });

  it.each(['[', '{a: ', '- ', '? '])('%j a hundred thousand times is a fault or a few', (opening) => {
    const told = faultsOf(opening.repeat(100_000));
    expect(told.length).toBeGreaterThan(0);
    expect(told.length).toBeLessThan(20);
  });
});
