/** Numbers for people: always with their unit. */

const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });

export const whole = (value) => WHOLE.format(value);

export const percent = (share) => `${WHOLE.format(share * 100)} %`;

export const plural = (count, one, many = `${one}s`) => `${whole(count)} ${count === 1 ? one : many}`;

/** Two units at most: 120 ms, 3.2 s, 2 min 5 s, 1 h 2 min. */
export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return both(Math.floor(seconds / 60), 'min', seconds % 60, 's');
  const minutes = Math.floor(seconds / 60);
  return both(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
}

const both = (large, largeUnit, small, smallUnit) =>
  small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;

/** A count that is read at a glance: 950, 12.4 k, 3.1 M. */
export function short(value) {
  if (value < 1000) return whole(value);
  if (value < 1_000_000) return `${(value / 1000).toFixed(value < 99_950 ? 1 : 0)} k`;
  return `${(value / 1_000_000).toFixed(1)} M`;
}

export function bytes(count) {
  if (count < 1024) return `${count} B`;
  if (count < 1024 * 1024) return `${(count / 1024).toFixed(1)} KiB`;
  return `${(count / 1024 / 1024).toFixed(1)} MiB`;
}

export const clockTime = (wallMs) => CLOCK.format(wallMs);

/** A snake-case name of the gateway's as words. */
export const spaced = (name) => name.replaceAll('_', ' ');

/** What a rate a second is called. */
export const perSecond = (value) => `${value > 0 && value < 10 ? value.toFixed(1) : whole(value)} /s`;
