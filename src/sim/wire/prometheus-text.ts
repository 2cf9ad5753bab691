import type { Histogram } from '../core/histogram.js';

export type Labels = Readonly<Record<string, string>>;

/** Builds a metrics page in the text format 0.0.4, family by family. */
export class PrometheusText {
  private readonly lines: string[] = [];

  /** `python`: whole numbers with `.0` and large ones with an exponent, as Python's client writes them. */
  constructor(private readonly numbers: 'python' | 'plain') {}

  family(name: string, type: 'gauge' | 'counter' | 'histogram', help: string): this {
    this.lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    return this;
  }

  sample(name: string, labels: Labels, value: number): this {
    const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escapeLabel(text)}"`);
    this.lines.push(`${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${this.numberText(value)}`);
    return this;
  }

  histogram(name: string, labels: Labels, values: Histogram): this {
    for (const { bound, count } of values.buckets())
      this.sample(`${name}_bucket`, { ...labels, le: this.numberText(bound) }, count);
    this.sample(`${name}_bucket`, { ...labels, le: '+Inf' }, values.count);
    return this.sample(`${name}_count`, labels, values.count).sample(`${name}_sum`, labels, values.sum);
  }

  toString(): string {
    return `${this.lines.join('\n')}\n`;
  }

  private numberText(value: number): string {
    if (this.numbers === 'plain') return String(value);
    if (Math.abs(value) >= 1e6) return value.toExponential().replace(/e\+(\d)$/, 'e+0$1');
    return Number.isInteger(value) ? `${value}.0` : String(value);
  }
}

const escapeLabel = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
