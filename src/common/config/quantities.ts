import { declareField, Scalar } from './field.js';
import type { ScalarRule } from './rule.js';

const MS_OF = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;
const BYTES_OF = { B: 1, KiB: 1_024, MiB: 1_048_576 } as const;

/** Whole hours that still fit a timer, whose limit is 2^31-1 ms. */
const MAX_TIMER_MS = 596 * MS_OF.h;

const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/u;
const DURATION_ABOVE_ZERO = /^(?!0+(?:\.0+)?[a-z])\d+(?:\.\d+)?(?:ms|s|m|h)$/u;
const SIZE = /^(\d+(?:\.\d+)?)(B|KiB|MiB)$/u;
const SIZE_ABOVE_ZERO = /^(?!0+(?:\.0+)?[A-Z])(?:\d+B|\d+(?:\.\d+)?(?:KiB|MiB))$/u;

export interface DurationLimits {
  /** `0s` is taken too. */
  readonly zero?: boolean;
  readonly maxMs?: number;
}

/** A duration with its unit (`10s`); the property ends in `Ms`, the key in the file does not. */
export function DurationMs({ zero = false, maxMs = MAX_TIMER_MS }: DurationLimits = {}): PropertyDecorator {
  const pattern = zero ? DURATION : DURATION_ABOVE_ZERO;
  const floor = zero ? 'of 0s or more' : 'above 0';
  return declareField(
    {
      kind: 'scalar',
      allowed: `a duration ${floor}, at most ${inLargestUnit(maxMs)}, in ms, s, m or h (500ms, 10s, 1h)`,
      schema: { type: 'string', pattern: pattern.source },
      accepts: (raw) => typeof raw === 'string' && pattern.test(raw) && millisecondsOf(raw) <= maxMs,
      convert: (raw) => millisecondsOf(String(raw)),
    },
    'Ms',
  );
}

/** A number of bytes with its unit (`16KiB`), above 0; the property ends in `Bytes`, the key in the file does not. */
export const SizeBytes = (): PropertyDecorator =>
  declareField(
    {
      kind: 'scalar',
      allowed: 'a size above 0 in B, KiB or MiB (512B, 64KiB, 1MiB)',
      schema: { type: 'string', pattern: SIZE_ABOVE_ZERO.source },
      accepts: (raw) => typeof raw === 'string' && SIZE_ABOVE_ZERO.test(raw) && Number.isSafeInteger(bytesOf(raw)),
      convert: (raw) => bytesOf(String(raw)),
    },
    'Bytes',
  );

/** A whole number from `min` on. */
export const Whole = (min: number): PropertyDecorator =>
  Scalar({
    kind: 'scalar',
    allowed: `a whole number of ${min} or more`,
    schema: { type: 'integer', minimum: min, maximum: Number.MAX_SAFE_INTEGER },
    accepts: (raw) => Number.isSafeInteger(raw) && Number(raw) >= min,
  });

/** A number above 0, fractions allowed. */
export function PositiveNumber({ max }: { readonly max?: number } = {}): PropertyDecorator {
  const rule: ScalarRule = {
    kind: 'scalar',
    allowed: max === undefined ? 'a number above 0' : `a number above 0 and at most ${max}`,
    schema: { type: 'number', exclusiveMinimum: 0, ...(max !== undefined && { maximum: max }) },
    accepts: (raw) => Number.isFinite(raw) && Number(raw) > 0 && Number(raw) <= (max ?? Infinity),
  };
  return Scalar(rule);
}

/** Whole milliseconds, at least 1 for anything above 0: no timeout may round to "none". */
function millisecondsOf(text: string): number {
  const exact = quantityOf(text, DURATION, MS_OF);
  return exact > 0 ? Math.max(1, Math.round(exact)) : exact;
}

const bytesOf = (text: string): number => Math.max(1, Math.round(quantityOf(text, SIZE, BYTES_OF)));

function quantityOf(text: string, pattern: RegExp, units: Readonly<Record<string, number>>): number {
  const [, amount, unit] = pattern.exec(text) ?? [];
  return amount === undefined || unit === undefined ? NaN : Number(amount) * (units[unit] ?? NaN);
}

/** A number of milliseconds as the file would write it: `90s`, `1h`. */
export function inLargestUnit(ms: number): string {
  const unit = (['h', 'm', 's'] as const).find((name) => ms > 0 && ms % MS_OF[name] === 0) ?? 'ms';
  return `${ms / MS_OF[unit]}${unit}`;
}

/** A number of bytes as the file would write it: `1500B`, `4MiB`. */
export function inLargestSize(bytes: number): string {
  const unit = (['MiB', 'KiB'] as const).find((name) => bytes > 0 && bytes % BYTES_OF[name] === 0) ?? 'B';
  return `${bytes / BYTES_OF[unit]}${unit}`;
}
