// class-transformer's @Type reads design types, and does not load the polyfill that keeps them.
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { ValidateNested } from 'class-validator';
import { declareField } from './field.js';
import type { Rule, Section } from './rule.js';

/** A section inside this one: present, of its class, and checked with it. */
export const Nested = (type: () => Section): PropertyDecorator => nestedBy({ kind: 'map', type }, type);

/** A list of sections of one class, each of them checked. */
export const NestedList = (type: () => Section, { min = 0 } = {}): PropertyDecorator =>
  nestedBy({ kind: 'maps', type, min }, type);

function nestedBy(rule: Rule, type: () => Section): PropertyDecorator {
  return (target, property) => {
    declareField(rule)(target, property);
    ValidateNested()(target, property);
    Type(type)(target, property);
  };
}
