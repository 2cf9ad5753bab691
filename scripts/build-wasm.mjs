// Makes text-stop-wasm.ts of text-stop.wat: npm run wasm. A test compares the two.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import loadWabt from 'wabt';

const path = (name) => fileURLToPath(new URL(`../src/modules/dialects/core/${name}`, import.meta.url));
const LINE = 112;

const wabt = await loadWabt();
const source = wabt.parseWat('text-stop.wat', readFileSync(path('text-stop.wat'), 'utf8'), { simd: true });
const lines = Buffer.from(source.toBinary({}).buffer)
  .toString('base64')
  .match(new RegExp(`.{1,${LINE}}`, 'g'));

writeFileSync(
  path('text-stop-wasm.ts'),
  [
    '/** Made of text-stop.wat by npm run wasm. */',
    'export const TEXT_STOP_WASM = Buffer.from(',
    '  [',
    ...lines.map((line) => `    '${line}',`),
    "  ].join(''),",
    "  'base64',",
    ');',
    '',
  ].join('\n'),
);
