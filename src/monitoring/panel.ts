import type { CounterName, GaugeName, HistogramName } from '../modules/telemetry/series.js';
import { chosen, quantile, rate, series, type Expr, type LabelOf, type Matchers, type NodeGauge } from './promql.js';

/** One expression of a panel, and what its lines are called: their labels. */
export interface Query {
  readonly expr: Expr<string>;
  readonly legend: string;
}

/** In Grafana's words. */
type Unit = 'none' | 'short' | 'reqps' | 's' | 'bytes' | 'Bps' | 'percentunit';

export interface Panel {
  readonly title: string;
  readonly unit: Unit;
  readonly description: string;
  readonly queries: readonly Query[];
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** Grafana's word for what holds a few readings, however long a time is shown. */
export const RANGE = '$__rate_interval';

export const panel = (title: string, unit: Unit, description: string, ...queries: readonly Query[]): Panel => ({
  title,
  unit,
  description,
  queries,
});

/** A line for each combination of the expression's labels. */
export const lines = <L extends string>(expr: Expr<L>, name = ''): Query => ({
  expr,
  legend: [name, ...expr.labels.map((label) => `{{${label}}}`)].filter((part) => part !== '').join(' '),
});

export const now = <N extends GaugeName | NodeGauge>(name: N): Expr<LabelOf<N>> => series(name, chosen(name));

export const pace = <N extends CounterName>(name: N, where?: Matchers<LabelOf<N>>): Expr<LabelOf<N>> =>
  rate(name, RANGE, chosen(name, where));

/** The median and the 99th percentile. */
export const spread = <N extends HistogramName>(name: N, ...by: readonly LabelOf<N>[]): Query[] =>
  [0.5, 0.99].map((share) =>
    lines(quantile(share, name, { range: RANGE, by, where: chosen(name) }), `p${share * 100}`),
  );
