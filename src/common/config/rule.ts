/** A JSON Schema, or a part of one. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A class whose decorated fields are a section of the configuration. */
export type Section<T extends object = object> = new () => T;

/** What one scalar may be. `schema` says the same as `accepts`, as far as a schema can. */
export interface ScalarRule {
  readonly kind: 'scalar';
  /** Completes "it must be": `a number above 0`. */
  readonly allowed: string;
  readonly schema: JsonSchema;
  /** Judges the value as the file writes it (`10s`). */
  accepts(raw: unknown): boolean;
  /** From the file's notation to what the property holds. Only called with what `accepts` took. Absent: the same. */
  convert?(raw: unknown): unknown;
}

/** A list of scalars, each one different. */
export interface ListRule {
  readonly kind: 'list';
  readonly items: ScalarRule;
  readonly min: number;
}

/** A map with the keys of a class. */
export interface MapRule {
  readonly kind: 'map';
  readonly type: () => Section;
}

/** A list of such maps. */
export interface MapsRule {
  readonly kind: 'maps';
  readonly type: () => Section;
  readonly min: number;
}

export type Rule = ScalarRule | ListRule | MapRule | MapsRule;

/** Stands in an instance for a value that could not be converted, so that it can never pass for a good one. */
export class Refused {
  readonly refused = true;
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** How a message names what a rule asks for. */
export function allowedBy(rule: Rule): string {
  switch (rule.kind) {
    case 'scalar':
      return rule.allowed;
    case 'list':
      return `a list${rule.min > 0 ? ' with at least one entry' : ''}, each of them ${rule.items.allowed}`;
    case 'map':
      return 'a map';
    case 'maps':
      return `a list of maps${rule.min > 0 ? ' with at least one entry' : ''}`;
  }
}

/** Whether a property of an instance, converted already, keeps its rule. What lies inside nested maps is their own matter. */
export function keepsRule(rule: Rule, value: unknown): boolean {
  switch (rule.kind) {
    case 'scalar':
      return rule.convert === undefined ? rule.accepts(value) : value !== undefined && !(value instanceof Refused);
    case 'list':
      return isListOf(rule, value);
    case 'map':
      return isRecord(value);
    case 'maps':
      return Array.isArray(value) && value.length >= rule.min;
  }
}

function isListOf(rule: ListRule, value: unknown): boolean {
  if (!Array.isArray(value) || value.length < rule.min) return false;
  return value.every((item) => rule.items.accepts(item)) && new Set(value).size === value.length;
}
