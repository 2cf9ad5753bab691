import type { Histogram } from '../core/histogram.js';

export type Labels = Readonly<Record<string, string>>;

/** Builds a metrics page in the text format 0.0.4, family by family. */
export class PrometheusText {
  private readonly lines: string[] = [];

  family(name: string, type: 'gauge' | 'counter' | 'histogram', help: string): this {
    this.lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    return this;
  }

  sample(name: string, labels: Labels, value: number): this {
    const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escapeLabel(text)}"`);
    this.lines.push(`${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${numberText(value)}`);
    return this;
  }

  histogram(name: string, labels: Labels, values: Histogram): this {
    const all = [...values.buckets().map(({ bound, count }) => [numberText(bound), count] as const), ['+Inf', values.count] as const];
    for (const [le, count] of all) this.sample(`${name}_bucket`, { ...labels, le }, count);
    return this.sample(`${name}_count`, labels, values.count).sample(`${name}_sum`, labels, values.sum);
  }

  toString(): string {
    return `${this.lines.join('\n')}\n`;
  }
}

const escapeLabel = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');

/** As Python's client writes it: whole numbers with `.0`, large ones with an exponent. */
function numberText(value: number): string {
  if (Math.abs(value) >= 1e6) return value.toExponential().replace(/e\+(\d)$/, 'e+0$1');
  return Number.isInteger(value) ? `${value}.0` : String(value);
}
