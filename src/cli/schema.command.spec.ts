import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jsonSchema } from '../modules/config/json-schema.js';
import { schemaCommand } from './schema.command.js';

const folder = mkdtempSync(join(tmpdir(), 'gateway-schema-'));
afterAll(() => rmSync(folder, { recursive: true }));

function schema(...argv: readonly string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const exit = schemaCommand(argv, {}, (line) => out.push(line), (line) => err.push(line)); // prettier-ignore
  return { exit, out, err };
}

it('prints the schema', () => {
  const { exit, out, err } = schema();
  expect([exit, err]).toEqual([0, []]);
  expect(JSON.parse(out.join('\n'))).toEqual(jsonSchema());
});

it('writes it to a file, without a word', () => {
  const file = join(folder, 'schema.json');
  expect(schema('--write', file)).toEqual({ exit: 0, out: [], err: [] });
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(jsonSchema());
});

it('says why it could not', () => {
  expect(schema('--write', join(folder, 'absent', 'schema.json'))).toMatchObject({
    exit: 1,
    err: [expect.stringContaining(`there is no folder ${join(folder, 'absent')}: make it first`)],
  });
  expect(schema('--wrote').exit).toBe(1);
});
