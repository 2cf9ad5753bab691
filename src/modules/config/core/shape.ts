import { fieldsOf, type DeclaredField } from '../../../common/config/field.js';
import { allowedBy, isRecord, type Section } from '../../../common/config/rule.js';
import { itemPath, pathOf, ROOT, type Finding } from './finding.js';
import { nearKey } from './near-key.js';

/** Every unknown key, missing key, and value that is no map or list where one must be. */
export function shapeFindings(section: Section, data: unknown, path = ROOT): readonly Finding[] {
  const fields = fieldsOf(section);
  const keys = fields.map((field) => field.key);
  if (!isRecord(data)) return [{ path, quotes: true, message: `is not a map with the keys ${keys.join(', ')}` }];
  const present = fields.filter((field) => Object.hasOwn(data, field.key));
  return [
    ...Object.keys(data).flatMap((key) => (keys.includes(key) ? [] : [unknownKey(path, key, keys)])),
    ...fields.flatMap((field) => (field.optional || present.includes(field) ? [] : [missingKey(path, field)])),
    ...present.flatMap((field) => insideOf(field, data[field.key], pathOf(path, field.key))),
  ];
}

function insideOf({ rule }: DeclaredField, value: unknown, path: string): readonly Finding[] {
  switch (rule.kind) {
    case 'scalar':
      return [];
    case 'list':
      return Array.isArray(value) ? [] : [notAList(path)];
    case 'map':
      return shapeFindings(rule.type(), value, path);
    case 'maps':
      if (!Array.isArray(value)) return [notAList(path)];
      if (value.length < rule.min) return [{ path, message: 'is empty, and needs at least one entry' }];
      return value.flatMap((item: unknown, index) => shapeFindings(rule.type(), item, itemPath(path, index)));
  }
}

const notAList = (path: string): Finding => ({ path, quotes: true, message: 'is not a list' });

function unknownKey(parent: string, key: string, allowed: readonly string[]): Finding {
  const near = nearKey(key, allowed);
  const meant = near === undefined ? '' : `: did you mean ${near}?`;
  return {
    path: pathOf(parent, key),
    onKey: true,
    message: `is not a key here${meant} (allowed: ${allowed.join(', ')})`,
  };
}

function missingKey(parent: string, { key, rule }: DeclaredField): Finding {
  const keys =
    rule.kind === 'map'
      ? ` with the keys ${fieldsOf(rule.type())
          .map((field) => field.key)
          .join(', ')}`
      : '';
  return {
    path: pathOf(parent, key),
    at: parent,
    onKey: true,
    message: `is missing: it must be ${allowedBy(rule)}${keys}`,
  };
}
