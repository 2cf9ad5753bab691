import { fieldsOf, type DeclaredField } from '../../../common/config/field.js';
import { isRecord, type Section } from '../../../common/config/rule.js';
import { itemPath, pathOf, ROOT } from './finding.js';

/** A section of which any part may be missing: whatever has a fault of its own is left out, so that none is told twice. */
export type Sketch<T> = T extends readonly (infer Item)[]
  ? readonly Sketch<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]?: Sketch<T[Key]> | undefined }
    : T;

/** The sound parts of an instance. Lists of maps keep their indexes. */
export function sketchOf<T extends object>(
  section: Section<T>,
  instance: unknown,
  faulty: ReadonlySet<string>,
  path = ROOT,
): Sketch<T> {
  const sketch: Record<string, unknown> = {};
  for (const field of fieldsOf(section)) {
    const at = pathOf(path, field.key);
    const value = isRecord(instance) && !faulty.has(at) ? instance[field.property] : undefined;
    if (value !== undefined) sketch[field.property] = soundPart(field, value, at, faulty);
  }
  // Built from the very fields of the class, which its type cannot express.
  return sketch as Sketch<T>;
}

function soundPart({ rule }: DeclaredField, value: unknown, path: string, faulty: ReadonlySet<string>): unknown {
  switch (rule.kind) {
    case 'scalar':
      return value;
    case 'list':
      if (!Array.isArray(value)) return undefined;
      return value.some((_, index) => faulty.has(itemPath(path, index))) ? undefined : value;
    case 'map':
      return sketchOf(rule.type(), value, faulty, path);
    case 'maps':
      if (!Array.isArray(value)) return undefined;
      return value.map((item, index) => sketchOf(rule.type(), item, faulty, itemPath(path, index)));
  }
}
