import type { ValidationError } from 'class-validator';
import { fieldsOf, type DeclaredField } from '../../../common/config/field.js';
import { isRecord, type ListRule, type Section } from '../../../common/config/rule.js';
import { itemPath, pathOf, ROOT, type Finding } from './finding.js';

/**
 * What class-validator found, in the words and paths of the file. Its errors name properties of instances, and a list's
 * rule fails as a whole: the data says which entries it meant.
 */
export function valueFindings(
  section: Section,
  data: unknown,
  errors: readonly ValidationError[],
  path = ROOT,
): readonly Finding[] {
  const fields = new Map(fieldsOf(section).map((field) => [field.property, field]));
  return errors.flatMap((error) => {
    const field = fields.get(error.property);
    if (field === undefined) return [];
    const value = isRecord(data) ? data[field.key] : undefined;
    return findingsOf(field, value, error, pathOf(path, field.key));
  });
}

function findingsOf({ rule }: DeclaredField, value: unknown, error: ValidationError, path: string): readonly Finding[] {
  switch (rule.kind) {
    case 'scalar':
      return [{ path, quotes: true, message: `is not ${rule.allowed}` }];
    case 'list':
      return listFindings(rule, value, path);
    case 'map':
      return valueFindings(rule.type(), value, error.children ?? [], path);
    case 'maps':
      return (error.children ?? []).flatMap((child) => {
        const index = Number(child.property);
        const item: unknown = Array.isArray(value) ? value[index] : undefined;
        return valueFindings(rule.type(), item, child.children ?? [], itemPath(path, index));
      });
  }
}

function listFindings(rule: ListRule, value: unknown, path: string): readonly Finding[] {
  if (!Array.isArray(value)) return [];
  if (value.length < rule.min)
    return [{ path, message: `is empty, and needs at least one entry: ${rule.items.allowed}` }];
  return value.flatMap((item: unknown, index) => {
    const at = itemPath(path, index);
    if (!rule.items.accepts(item)) return [{ path: at, quotes: true, message: `is not ${rule.items.allowed}` }];
    return value.indexOf(item) < index ? [{ path: at, quotes: true, message: 'is in the list already' }] : [];
  });
}
