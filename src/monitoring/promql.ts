import { NODE_SERIES, SERIES } from '../modules/telemetry/series.js';

const ALL = { ...SERIES, ...NODE_SERIES };
type All = typeof ALL;
export type Name = keyof All;
type NameOf<Type> = { [N in Name]: All[N]['type'] extends Type ? N : never }[Name];

export type NodeGauge = {
  [N in keyof typeof NODE_SERIES]: All[N]['type'] extends 'gauge' ? N : never;
}[keyof typeof NODE_SERIES];

/** What Prometheus itself adds to every series that it reads from a gateway. */
export type TargetLabel = 'job' | 'instance' | 'pod';
export type LabelOf<N extends Name> = All[N]['labels'][number] | TargetLabel;
/** A text has to be the label's value, a pattern has to match it whole. */
export type Matchers<L extends string> = Partial<Record<L, string | RegExp | { readonly not: string | RegExp }>>;

/** An expression and the labels that its results have: neither a series nor a label can be named that is not there. */
export class Expr<L extends string> {
  constructor(
    readonly text: string,
    readonly labels: readonly L[],
  ) {}

  sum<K extends L>(...by: readonly K[]): Expr<K> {
    return this.#aggregated('sum', by);
  }

  max<K extends L>(...by: readonly K[]): Expr<K> {
    return this.#aggregated('max', by);
  }

  min<K extends L>(...by: readonly K[]): Expr<K> {
    return this.#aggregated('min', by);
  }

  /** Both sides need the same labels. */
  over(other: Expr<L>): Expr<L> {
    return new Expr(`${this.text} / ${other.text}`, this.labels);
  }

  times(factor: number): Expr<L> {
    return new Expr(`${factor} * ${this.text}`, this.labels);
  }

  above(limit: number | Expr<L>): Expr<L> {
    return new Expr(`${this.text} > ${typeof limit === 'number' ? limit : limit.text}`, this.labels);
  }

  is(value: number): Expr<L> {
    return new Expr(`${this.text} == ${value}`, this.labels);
  }

  and(other: Expr<L>): Expr<L> {
    return new Expr(`(${this.text}) and (${other.text})`, this.labels);
  }

  or(other: Expr<L>): Expr<L> {
    return new Expr(`(${this.text}) or (${other.text})`, this.labels);
  }

  unless(other: Expr<L>): Expr<L> {
    return new Expr(`(${this.text}) unless (${other.text})`, this.labels);
  }

  #aggregated<K extends L>(how: string, by: readonly K[]): Expr<K> {
    return new Expr(by.length === 0 ? `${how}(${this.text})` : `${how} by (${by.join(', ')}) (${this.text})`, by);
  }
}

/** A gauge or counter as it is. */
export function series<N extends NameOf<'gauge' | 'counter'>>(name: N, where: Matchers<LabelOf<N>> = {}) {
  return new Expr<LabelOf<N>>(selector(name, where), labelsOf(name));
}

/** Growth of a counter by the second. */
export function rate<N extends NameOf<'counter'>>(name: N, range: string, where: Matchers<LabelOf<N>> = {}) {
  return new Expr<LabelOf<N>>(`rate(${selector(name, where)}[${range}])`, labelsOf(name));
}

/** Growth of a counter within the range. */
export function increase<N extends NameOf<'counter'>>(name: N, range: string, where: Matchers<LabelOf<N>> = {}) {
  return new Expr<LabelOf<N>>(`increase(${selector(name, where)}[${range}])`, labelsOf(name));
}

/** A counter that began to exist within the range: its first step is no growth that Prometheus can see. */
export function appeared<N extends NameOf<'counter'>>(name: N, range: string, where: Matchers<LabelOf<N>> = {}) {
  const one = selector(name, where);
  return new Expr<LabelOf<N>>(`${one} unless ${one} offset ${range}`, labelsOf(name));
}

/** How often a gauge has changed within the range. */
export function changes<N extends NameOf<'gauge'>>(name: N, range: string, where: Matchers<LabelOf<N>> = {}) {
  return new Expr<LabelOf<N>>(`changes(${selector(name, where)}[${range}])`, labelsOf(name));
}

/** 1 where nobody has the series. */
export const absent = (name: NameOf<'gauge' | 'counter'>): Expr<never> => new Expr(`absent(${name})`, []);

/** What a histogram is asked about. */
export interface Observed<N extends NameOf<'histogram'>, K extends LabelOf<N>> {
  readonly range: string;
  readonly by: readonly K[];
  readonly where?: Matchers<LabelOf<N>>;
}

/** The value below which that share of what a histogram has observed lies. */
export function quantile<N extends NameOf<'histogram'>, K extends LabelOf<N>>(
  share: number,
  name: N,
  { range, by, where = {} }: Observed<N, K>,
): Expr<K> {
  const buckets = `rate(${selector(name, where, '_bucket')}[${range}])`;
  return new Expr(`histogram_quantile(${share}, sum by (${['le', ...by].join(', ')}) (${buckets}))`, by);
}

/** The mean of what a histogram has observed. */
export function mean<N extends NameOf<'histogram'>, K extends LabelOf<N>>(
  name: N,
  { range, by, where = {} }: Observed<N, K>,
): Expr<K> {
  const part = (suffix: string): Expr<K> =>
    new Expr<LabelOf<N>>(`rate(${selector(name, where, suffix)}[${range}])`, labelsOf(name)).sum(...by);
  return part('_sum').over(part('_count'));
}

/** Only of what also has series of the gateway: Node's own are those of every Node process there is. */
export const ofGateways = <L extends string>(expr: Expr<L | TargetLabel>): Expr<L | TargetLabel> =>
  new Expr(`(${expr.text}) and on (job, instance) slots_limit`, expr.labels);

/** Limits a series to the jobs and upstreams that a dashboard's reader has chosen. */
export function chosen<N extends Name>(name: N, where: Matchers<LabelOf<N>> = {}): Matchers<LabelOf<N>> {
  // What was refused before it was known where it goes belongs to no upstream, and is to be seen all the same.
  const byUpstream = labelsOf(name).some((label) => label === 'upstream') && !name.startsWith('http_');
  return { job: /$job/, ...(byUpstream && { upstream: /$upstream/ }), ...where };
}

const labelsOf = <N extends Name>(name: N): LabelOf<N>[] => [...ALL[name].labels, 'job', 'instance', 'pod'];

function selector(name: Name, where: Matchers<string>, suffix = ''): string {
  const terms = Object.entries(where).map(([label, wanted]) => term(label, wanted));
  return `${name}${suffix}${terms.length === 0 ? '' : `{${terms.join(', ')}}`}`;
}

function term(label: string, wanted: Matchers<string>[string]): string {
  if (typeof wanted === 'string') return `${label}="${wanted}"`;
  if (wanted instanceof RegExp) return `${label}=~"${wanted.source}"`;
  const { not } = wanted ?? { not: '' };
  return not instanceof RegExp ? `${label}!~"${not.source}"` : `${label}!="${not}"`;
}
