// Compares config/gateway.schema.json with what the configuration classes say now. Needs a build: npm run schema:check makes one.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const path = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));

const committed = readFileSync(path('config/gateway.schema.json'), 'utf8');
const generated = execFileSync(process.execPath, [path('dist/main.js'), 'schema'], { encoding: 'utf8' });

if (committed.trimEnd() === generated.trimEnd()) {
  console.log('config/gateway.schema.json is what the configuration classes say.');
} else {
  console.error('config/gateway.schema.json is not what the configuration classes say: run npm run schema');
  process.exitCode = 1;
}
