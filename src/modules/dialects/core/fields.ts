import { invalidField } from './body-problems.js';
import { isObject, type JsonObject } from './json-value.js';

/** Readers of one value, each of which throws `invalid-request` with the value's path. null and absent are the same. */

export function objectAt(value: unknown, path: string): JsonObject {
  if (!isObject(value)) throw invalidField(path, 'has to be an object');
  return value;
}

export function listAt(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw invalidField(path, 'has to be a list');
  return value;
}

export function textAt(value: unknown, path: string): string {
  if (typeof value !== 'string') throw invalidField(path, 'has to be a string');
  return value;
}

export function nameAt(value: unknown, path: string): string {
  const text = textAt(value, path);
  if (text === '') throw invalidField(path, 'is empty');
  return text;
}

export function optional<T>(value: unknown, path: string, read: (value: unknown, path: string) => T): T | undefined {
  return value === undefined || value === null ? undefined : read(value, path);
}

export function booleanAt(value: unknown, path: string): boolean {
  if (typeof value !== 'boolean') throw invalidField(path, 'has to be true or false');
  return value;
}

export function numberAt(value: unknown, path: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw invalidField(path, 'has to be a number');
  return value;
}

export function countAt(value: unknown, path: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1)
    throw invalidField(path, 'has to be a whole number of at least 1');
  return value;
}
