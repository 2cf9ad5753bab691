import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { jsonSchemaText } from '../modules/config/json-schema.js';
import { writing } from './system-errors.js';

type Print = (line: string) => void;

export const USAGE =
  'usage: gateway schema [--write FILE]\nPrints the JSON schema of the configuration, or writes it to FILE.';

/** Prints the JSON Schema of the configuration, or writes it with `--write FILE`; returns the exit code. */
export function schemaCommand(argv: readonly string[], _env: unknown, out: Print, err: Print): number {
  try {
    const { values } = parseArgs({ args: [...argv], options: { write: { type: 'string' } } });
    if (values.write === undefined) out(jsonSchemaText().trimEnd());
    else write(values.write);
    return 0;
  } catch (error) {
    err(`${(error as Error).message} (gateway schema [--write FILE])`);
    return 1;
  }
}

const write = (file: string): void => writing('--write', file, () => writeFileSync(file, jsonSchemaText()));
