// Gateways that are not among our own dependencies, installed into test/bench/peers when they are to be measured.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../peers/', import.meta.url));
const PORTKEY = '@portkey-ai/gateway';
const INSTALL_TIMEOUT_MS = 180_000;

/** Where Portkey's gateway is started from. */
export const PORTKEY_PROGRAM = `${FOLDER}node_modules/${PORTKEY}/build/start-server.js`;

/** The version that is measured. */
export const portkeyVersion = () => readJson('package.json').dependencies[PORTKEY];

/** Why Portkey cannot be measured; undefined: it is there. */
export async function portkeyLacking() {
  if (isInstalled()) return undefined;
  process.stderr.write(`installing ${PORTKEY} ${portkeyVersion()} into test/bench/peers …\n`);
  const output = await npmInstall();
  if (isInstalled()) return undefined;
  return `${PORTKEY} ${portkeyVersion()} could not be installed into test/bench/peers: ${output}`;
}

function isInstalled() {
  if (!existsSync(PORTKEY_PROGRAM)) return false;
  return readJson(`node_modules/${PORTKEY}/package.json`).version === portkeyVersion();
}

/** What npm said, in a line. Its scripts are not run: it needs none. */
async function npmInstall() {
  const args = ['install', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const npm = spawn('npm', args, { cwd: FOLDER, stdio: ['ignore', 'ignore', 'pipe'], timeout: INSTALL_TIMEOUT_MS });
  let said = '';
  npm.stderr.on('data', (bytes) => (said += bytes));
  try {
    const [code, signal] = await once(npm, 'exit');
    return said.trim().split('\n')[0] || `npm ended with ${code ?? signal}`;
  } catch (error) {
    return error.message;
  }
}

const readJson = (path) => JSON.parse(readFileSync(`${FOLDER}${path}`, 'utf8'));
