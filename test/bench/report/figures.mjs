// Figures that could not be taken are NaN, and are left out.

/** Linear between the two nearest. */
export function quantile(numbers, share) {
  const sorted = numbers.filter(Number.isFinite).sort((a, b) => a - b);
  if (sorted.length === 0) return NaN;
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)];
  return below + (sorted[Math.ceil(at)] - below) * (at - Math.floor(at));
}

export const median = (numbers) => quantile(numbers, 0.5);

/** As many digits as mean something. */
export function show(value) {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

/** For the record: four digits, and null for what could not be taken. */
export const recorded = (value) => (Number.isFinite(value) ? Number(value.toPrecision(4)) : null);
