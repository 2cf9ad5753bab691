/** A JSON object whose members are not known yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const objectFrom = (value: unknown): JsonObject | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;

export const listFrom = (value: unknown): readonly unknown[] | undefined => (Array.isArray(value) ? value : undefined);

export const stringFrom = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** A whole number of at least 1, also when written as a string (a header); undefined for anything else. */
export function countFrom(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number > 0 ? number : undefined;
}
