import { fieldsOf } from '../../common/config/field.js';
import { allowedBy, type JsonSchema, type Rule, type ScalarRule, type Section } from '../../common/config/rule.js';
import { GatewayConfig } from './gateway.config.js';

/** Stands where the file has a variable, whose value the schema cannot know. */
const VARIABLE: JsonSchema = {
  description: 'a value from the environment: ${NAME} or ${NAME:-default}',
  type: 'string',
  pattern: '\\$\\{[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?\\}',
};

/** The JSON Schema (draft 7) of the configuration file, made from the classes that read it. */
export function jsonSchema(): JsonSchema {
  const definitions = new Map<string, JsonSchema>([['variable', VARIABLE]]);
  const root = refTo(GatewayConfig, definitions);
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'The configuration of the gateway',
    ...root,
    definitions: Object.fromEntries([...definitions].sort(([left], [right]) => (left < right ? -1 : 1))),
  };
}

/** The committed file's text. */
export const jsonSchemaText = (): string => `${JSON.stringify(jsonSchema(), undefined, 2)}\n`;

function refTo(section: Section, definitions: Map<string, JsonSchema>): JsonSchema {
  if (!definitions.has(section.name)) {
    definitions.set(section.name, {});
    definitions.set(section.name, schemaOfSection(section, definitions));
  }
  return { allOf: [{ $ref: `#/definitions/${section.name}` }] };
}

function schemaOfSection(section: Section, definitions: Map<string, JsonSchema>): JsonSchema {
  const fields = fieldsOf(section);
  return {
    type: 'object',
    additionalProperties: false,
    required: fields.filter((field) => !field.optional).map((field) => field.key),
    properties: Object.fromEntries(fields.map((field) => [field.key, schemaOfRule(field.rule, definitions)])),
  };
}

function schemaOfRule(rule: Rule, definitions: Map<string, JsonSchema>): JsonSchema {
  switch (rule.kind) {
    case 'scalar':
      return schemaOfScalar(rule);
    case 'list':
      return {
        description: allowedBy(rule),
        type: 'array',
        items: schemaOfScalar(rule.items),
        minItems: rule.min,
        uniqueItems: true,
      };
    case 'map':
      return refTo(rule.type(), definitions);
    case 'maps':
      return { type: 'array', items: refTo(rule.type(), definitions), minItems: rule.min };
  }
}

const schemaOfScalar = (rule: ScalarRule): JsonSchema => ({
  description: rule.allowed,
  anyOf: [rule.schema, { $ref: '#/definitions/variable' }],
});
