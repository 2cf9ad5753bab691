import { Expose, Transform } from 'class-transformer';
import { getMetadataStorage, registerDecorator, ValidateIf } from 'class-validator';
import { keepsRule, Refused, type ListRule, type Rule, type ScalarRule, type Section } from './rule.js';

/** One setting as its class declares it. Kept in class-validator's metadata, where loader and schema find it again. */
export class Field {
  constructor(
    readonly property: string,
    /** Its key in the file: the property without its unit. */
    readonly key: string,
    readonly rule: Rule,
  ) {}
}

/** A field with what its other decorators say about it. */
export interface DeclaredField extends Pick<Field, 'property' | 'key' | 'rule'> {
  readonly optional: boolean;
}

/** Every decorator of a setting ends here: the validator and the key of the file come from the same record. */
export function declareField(rule: Rule, unit = ''): PropertyDecorator {
  return (target, name) => {
    const property = String(name);
    const key = property.endsWith(unit) ? property.slice(0, property.length - unit.length) : property;
    registerDecorator({
      name: 'rule',
      target: target.constructor,
      propertyName: property,
      constraints: [new Field(property, key, rule)],
      validator: { validate: (value: unknown) => keepsRule(rule, value) },
    });
    Expose({ name: key })(target, name);
    if (rule.kind === 'scalar' && rule.convert !== undefined) Transform(converted(rule))(target, name);
  };
}

const converted =
  (rule: ScalarRule) =>
  ({ value }: { value: unknown }): unknown => {
    if (value === undefined) return undefined;
    return rule.accepts(value) ? rule.convert?.(value) : new Refused();
  };

/** The key may be left out. Written without a value it is still a fault, which `IsOptional` would let pass. */
export const Optional = (): PropertyDecorator => ValidateIf((_section, value: unknown) => value !== undefined);

/** The value keeps this rule. */
export const Scalar = (rule: ScalarRule): PropertyDecorator => declareField(rule);

/** A list of different values, each of which keeps this rule. */
export const ListOf = (items: ScalarRule, { min = 0 } = {}): PropertyDecorator =>
  declareField({ kind: 'list', items, min } satisfies ListRule);

const declared = new WeakMap<Section, readonly DeclaredField[]>();

/** The fields of a section, in the order of the class. */
export function fieldsOf(section: Section): readonly DeclaredField[] {
  const fields = declared.get(section) ?? declaredIn(section);
  declared.set(section, fields);
  return fields;
}

function declaredIn(section: Section): readonly DeclaredField[] {
  const metadata = getMetadataStorage().getTargetValidationMetadatas(section, '', true, false);
  const conditional = metadata.filter((entry) => entry.type === 'conditionalValidation');
  const optional = new Set(conditional.map((entry) => entry.propertyName));
  return metadata.flatMap((entry) => {
    const field: unknown = entry.constraints?.[0];
    if (!(field instanceof Field)) return [];
    const { property, key, rule } = field;
    return [{ property, key, rule, optional: optional.has(property) }];
  });
}
