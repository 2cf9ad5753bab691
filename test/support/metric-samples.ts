export type Labels = Readonly<Record<string, string>>;

/** One line of a Prometheus page. */
export interface Sample {
  readonly name: string;
  readonly labels: Labels;
  readonly value: number;
}

/** The samples of a page in the text format; comments are left out. Throws on a line that is none. */
export function parseSamples(page: string): Sample[] {
  return page
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map(parseSample);
}

function parseSample(line: string): Sample {
  const found = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$/.exec(line);
  const [, name, labels = '', value] = found ?? [];
  if (name === undefined || value === undefined) throw new Error(`not a sample: ${line}`);
  return { name, labels: parseLabels(labels), value: numberFrom(value) };
}

function parseLabels(text: string): Labels {
  const pairs = text.matchAll(/([A-Za-z_]\w*)="((?:\\.|[^"\\])*)"/g);
  return Object.fromEntries([...pairs].map(([, name = '', value = '']) => [name, unescaped(value)]));
}

const unescaped = (value: string): string =>
  value.replace(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));

function numberFrom(text: string): number {
  if (text === '+Inf') return Infinity;
  return text === '-Inf' ? -Infinity : Number(text);
}

/** The sum of the series that have at least these labels; undefined where there is none. */
export function findSample(page: string, name: string, labels: Labels = {}): number | undefined {
  const wanted = Object.entries(labels);
  const found = parseSamples(page).filter(
    (sample) => sample.name === name && wanted.every(([label, value]) => sample.labels[label] === value),
  );
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
}
