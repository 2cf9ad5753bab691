import fc from 'fast-check';
import { samplePage, samplePages } from '../../../../test/engines/sample-page.js';
import { familiesOf } from './gauge-table.js';
import { VLLM_GAUGES } from './gauges-vllm.js';
import { MAX_LINE_BYTES, MAX_LINES, MetricsParser, type MetricsPage } from './parse-metrics.js';

function parse(text: string | Uint8Array, wanted: Iterable<string> = ['m']): MetricsPage {
  const parser = new MetricsParser(wanted);
  parser.push(text);
  return parser.finish();
}

/** Name, labels and value of each sample. */
const samplesOf = (page: MetricsPage): unknown[] =>
  page.samples.map(({ name, labels, value }) => [name, Object.fromEntries(labels), value]);

describe('parse-metrics: one line', () => {
  it.each([
    ['m 1', {}, 1],
    ['m{} 1', {}, 1],
    ['m{a="b"} 2.5', { a: 'b' }, 2.5],
    ['m{a="b",} 1.2e+07', { a: 'b' }, 1.2e7],
    ['m{a="b"}7', { a: 'b' }, 7],
    ['  m\t{ a = "b" ,\tc="d" }   3  ', { a: 'b', c: 'd' }, 3],
    ['m{a=""} +4', { a: '' }, 4],
    ['m .5', {}, 0.5],
    ['m 5.', {}, 5],
    ['m -1', {}, -1],
    ['m NaN', {}, NaN],
    ['m nan', {}, NaN],
    ['m +Inf', {}, Infinity],
    ['m Inf', {}, Infinity],
    ['m -Inf', {}, -Infinity],
    ['m 1 1763902999000', {}, 1],
    ['m{a="b"} 1 1763902999.123', { a: 'b' }, 1],
    ['m 7 # {trace_id="ab#cd"} 0.61 1763902999.1', {}, 7],
    ['m{a="x # y"} 7 # {t="u"} 1', { a: 'x # y' }, 7],
    ['m{a="\\\\ \\" \\n , } { #"} 1', { a: '\\ " \n , } { #' }, 1],
    ['m{a="\\q"} 1', { a: '\\q' }, 1],
    ['m{__proto__="x"} 1', JSON.parse('{"__proto__":"x"}') as object, 1],
  ])('reads %j', (line, labels, value) => {
    const page = parse(`${line}\n`);
    expect(samplesOf(page)).toEqual([['m', labels, value]]);
    expect(page.badLines).toBe(0);
  });

  it.each([
    ['m 0x1F'],
    ['m 1_000'],
    ['m'],
    ['m '],
    ['m{a="b"}'],
    ['m one'],
    ['m 1 2 3'],
    ['m 1 now'],
    ['m{a="b" 5'],
    ['m{a=b} 5'],
    ['m{a="b" c="d"} 5'],
    ['m{,} 5'],
    ['m{a="1",a="2"} 5'],
    ['m{a="b\\"} 5'],
    ['m 1e'],
    ['m .'],
    [`m ${'1'.repeat(60_000)}x`],
    ['<html>'],
    ['9m 1'],
    ['m:é 1'],
  ])('counts %.40j as broken and goes on', (line) => {
    const page = parse(`${line}\nm 1\n`);
    expect(page.badLines).toBe(1);
    expect(samplesOf(page)).toEqual([['m', {}, 1]]);
  });

  it.each([['{"a.b",c="d"} 1'], ['# HELP m text'], ['#TYPE m'], ['# whatever'], [''], ['   '], ['other{broken 5']])(
    'passes %j by without a word',
    (line) => {
      const page = parse(`${line}\nm 1\n`);
      expect(page.badLines).toBe(0);
      expect(samplesOf(page)).toEqual([['m', {}, 1]]);
    },
  );
});

describe('parse-metrics: a page', () => {
  it('takes CRLF, a byte order mark and a missing last newline', () => {
    const page = parse('\uFEFFm{a="1"} 1\r\n\r\nm{a="2"} 2\r\nm{a="3"} 3');
    expect(samplesOf(page).map((sample) => (sample as unknown[])[2])).toEqual([1, 2, 3]);
    expect(page.badLines).toBe(0);
  });

  it('keeps the first of two equal series, however their labels are ordered, and counts the other', () => {
    const page = parse('m{a="1",b="2"} 5\nm{b="2",a="1"} 9\nm{a="1"} 7\n');
    expect(samplesOf(page)).toEqual([
      ['m', { a: '1', b: '2' }, 5],
      ['m', { a: '1' }, 7],
    ]);
    expect(page.duplicates).toBe(1);
  });

  it('wants exact names: one that begins another is another', () => {
    const page = parse('mm 1\nm_total 2\nm 3\nM 4\n');
    expect(samplesOf(page)).toEqual([['m', {}, 3]]);
    expect(page.lines).toBe(4);
  });

  it('reads nothing behind # EOF', () => {
    const parser = new MetricsParser(['m']);
    expect(parser.push('m{a="1"} 1\n# EOF\nm{a="2"} 2\n')).toBe(false);
    expect(parser.push('m{a="3"} 3\n')).toBe(false);
    const page = parser.finish();
    expect(page.ended).toBe(true);
    expect(page.samples).toHaveLength(1);
  });

  it('gives up at a line that is too long, begun or ended', () => {
    const line = `m{a="${'x'.repeat(MAX_LINE_BYTES)}"} 1`;
    expect(parse(line).oversize).toBe(true);
    expect(parse(`${line}\nm 1\n`)).toMatchObject({ oversize: true, samples: [] });
    expect(parse(`m{a="${'x'.repeat(MAX_LINE_BYTES - 20)}"} 1\n`)).toMatchObject({ oversize: false, badLines: 0 });
  });

  it('gives up at too many lines', () => {
    expect(parse('x 1\n'.repeat(MAX_LINES)).oversize).toBe(false);
    expect(parse('x 1\n'.repeat(MAX_LINES + 1)).oversize).toBe(true);
  });

  it('refuses 4 MiB of one line without reading them', () => {
    const parser = new MetricsParser(['m']);
    expect(parser.push(Buffer.alloc(4 * 1024 * 1024, 'm'))).toBe(false);
    expect(parser.finish()).toMatchObject({ oversize: true, samples: [], lines: 0 });
  });

  it('reads bytes of a view as those of a buffer', () => {
    const whole = new TextEncoder().encode('xxm 1\n');
    expect(parse(whole.subarray(2)).samples).toHaveLength(1);
  });
});

describe('parse-metrics: whatever comes', () => {
  const wanted = familiesOf(VLLM_GAUGES);

  it.each(samplePages())('survives %s cut at every byte', (name) => {
    const bytes = samplePage(name);
    for (let end = 0; end <= bytes.length; end += 1) {
      const page = parse(bytes.subarray(0, end), wanted);
      expect(page.samples.length).toBeLessThanOrEqual(page.lines);
    }
  });

  it('reads the same however a page is cut into pieces', () => {
    const bytes = samplePage('hostile-crlf.prom');
    const whole = parse(bytes, wanted);
    for (const size of [1, 2, 3, 7, 64, 300]) {
      const parser = new MetricsParser(wanted);
      for (let at = 0; at < bytes.length; at += size) parser.push(bytes.subarray(at, at + size));
      expect(parser.finish()).toEqual(whole);
    }
  });

  it('gives back any label text', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 5 }), (texts) => {
        const labels = texts.map((text, at) => [`l${at}`, text] as const);
        const page = parse(`m{${labels.map(([name, text]) => `${name}="${escaped(text)}"`).join()}} 1\n`);
        expect(samplesOf(page)).toEqual([['m', Object.fromEntries(labels), 1]]);
      }),
    );
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 5 }), (chunks) => {
        const parser = new MetricsParser(['m', 'a']);
        for (const chunk of chunks) parser.push(chunk);
        expect(parser.finish().badLines).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it('never throws at what looks like a sample', () => {
    const piece = fc.constantFrom(
      'm',
      '{',
      '}',
      '"',
      '\\',
      ',',
      '=',
      ' ',
      '#',
      '\n',
      '\r',
      'a',
      '1',
      'e',
      '+',
      'NaN',
      '# EOF',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const page = parse(pieces.join(''));
        expect(page.samples.length + page.badLines + page.duplicates).toBeLessThanOrEqual(page.lines);
      }),
      { numRuns: 500 },
    );
  });
});

const escaped = (text: string): string => text.replace(/["\\]/gu, '\\$&').replaceAll('\n', '\\n');
