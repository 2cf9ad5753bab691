/** A number with about three digits; a dash where there is none. */
export function short(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '–';
  if (value === Infinity) return '∞';
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

export const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** A Markdown table. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
