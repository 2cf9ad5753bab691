/** One bar: absent where nothing was measured. */
export interface Bar {
  readonly value: number | undefined;
  /** A mark across the bar: what it is held against. */
  readonly reference: number | undefined;
}

export interface BarGroup {
  readonly label: string;
  /** In the order of the series. */
  readonly bars: readonly Bar[];
}

/** Bars in groups on one axis. */
export interface Panel {
  readonly title: string;
  readonly groups: readonly BarGroup[];
  /** From `low` to `high`; a logarithmic one needs `low` above 0. */
  readonly axis: { readonly low: number; readonly high: number; readonly logarithmic: boolean };
  /** Values of the axis that get a line. */
  readonly ticks: readonly number[];
}

export interface Chart {
  readonly title: string;
  readonly series: readonly { readonly title: string; readonly color: string }[];
  readonly panels: readonly Panel[];
}

const WIDTH = 1_000;
const PANEL_HEIGHT = 230;
const LEFT = 60;
const RIGHT = 20;
const HEADER = 90;
const PLOT = { top: 34, bottom: 34 } as const;
const GROUP_GAP = 24;

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escape = (text: string): string => text.replace(/[&<>"]/g, (found) => ESCAPES[found] ?? found);
const at = (value: number): string => String(Math.round(value * 10) / 10);

function text(x: number, y: number, content: string, more = ''): string {
  return `<text x="${at(x)}" y="${at(y)}" ${more}>${escape(content)}</text>`;
}

function rect(x: number, y: number, width: number, height: number, color: string): string {
  return `<rect x="${at(x)}" y="${at(y)}" width="${at(width)}" height="${at(height)}" fill="${color}"/>`;
}

function line(x1: number, x2: number, y: number, style: string): string {
  return `<line x1="${at(x1)}" x2="${at(x2)}" y1="${at(y)}" y2="${at(y)}" ${style}/>`;
}

/** A chart as an SVG document. */
export function renderChart({ title, series, panels }: Chart): string {
  const height = HEADER + panels.length * PANEL_HEIGHT;
  const legend = series.flatMap((one, index) => {
    const x = LEFT + (index % 4) * 230;
    const y = 42 + 18 * Math.floor(index / 4);
    return [rect(x, y, 11, 11, one.color), text(x + 16, y + 10, one.title)];
  });
  const colors = series.map(({ color }) => color);
  const body = panels.flatMap((panel, index) => renderPanel(panel, colors, HEADER + index * PANEL_HEIGHT));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">`,
    rect(0, 0, WIDTH, height, '#ffffff'),
    text(LEFT, 24, title, 'font-size="16" font-weight="bold"'),
    ...legend,
    ...body,
    '</svg>',
    '',
  ].join('\n');
}

function renderPanel({ title, groups, axis, ticks }: Panel, colors: readonly string[], top: number): string[] {
  const [plotTop, plotBottom] = [top + PLOT.top, top + PANEL_HEIGHT - PLOT.bottom];
  const yOf = (value: number): number => plotBottom - shareOf(value, axis) * (plotBottom - plotTop);
  const grid = ticks.flatMap((tick) => [
    line(LEFT, WIDTH - RIGHT, yOf(tick), 'stroke="#dddddd"'),
    text(LEFT - 6, yOf(tick) + 4, String(tick), 'text-anchor="end" fill="#555555"'),
  ]);
  const groupWidth = (WIDTH - LEFT - RIGHT) / groups.length;
  const barWidth = (groupWidth - GROUP_GAP) / colors.length;
  const bars = groups.flatMap(({ label, bars: values }, group) => {
    const x = LEFT + group * groupWidth + GROUP_GAP / 2;
    const drawn = values.flatMap((bar, index) =>
      renderBar(bar, x + index * barWidth, barWidth, yOf, colors[index] ?? ''),
    );
    return [...drawn, text(x + (groupWidth - GROUP_GAP) / 2, plotBottom + 18, label, 'text-anchor="middle"')];
  });
  return [text(LEFT, top + 18, title, 'font-weight="bold"'), ...grid, ...bars];
}

/** How far up the axis a value stands, 0 to 1. */
function shareOf(value: number, { low, high, logarithmic }: Panel['axis']): number {
  const scale = logarithmic ? Math.log : (number: number): number => number;
  return (scale(Math.min(high, Math.max(low, value))) - scale(low)) / (scale(high) - scale(low));
}

function renderBar(bar: Bar, x: number, width: number, yOf: (value: number) => number, color: string): string[] {
  const parts: string[] = [];
  if (bar.value !== undefined) {
    const [y, bottom] = [yOf(bar.value), yOf(0)];
    const label = bar.value >= 10 ? bar.value.toFixed(0) : bar.value.toFixed(1);
    parts.push(rect(x + 1, y, width - 2, bottom - y, color));
    parts.push(text(x + width / 2, y - 4, label, 'text-anchor="middle" font-size="10"'));
  }
  if (bar.reference !== undefined)
    parts.push(line(x, x + width, yOf(bar.reference), 'stroke="#000000" stroke-width="2"'));
  return parts;
}
