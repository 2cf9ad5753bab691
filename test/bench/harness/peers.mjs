// Gateways that are not among our own dependencies, installed into test/bench/peers when they are to be measured.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../peers/', import.meta.url));
const PORTKEY = '@portkey-ai/gateway';
const INSTALL_TIMEOUT_MS = 180_000;

/** Where Portkey's gateway is started from. */
export const PORTKEY_PROGRAM = `${FOLDER}node_modules/${PORTKEY}/build/start-server.js`;

/** The version that is measured. */
export const portkeyVersion = () => readJson('package.json').dependencies[PORTKEY];

/** Why Portkey cannot be measured; undefined: it is there. `children`: what npm is started as one of. */
export async function portkeyLacking(children) {
  if (isInstalled()) return undefined;
  process.stderr.write(`installing ${PORTKEY} ${portkeyVersion()} into test/bench/peers …\n`);
  const said = await npmInstall(children);
  if (isInstalled()) return undefined;
  return `${PORTKEY} ${portkeyVersion()} could not be installed into test/bench/peers: ${said}`;
}

function isInstalled() {
  if (!existsSync(PORTKEY_PROGRAM)) return false;
  return readJson(`node_modules/${PORTKEY}/package.json`).version === portkeyVersion();
}

/** What npm said, in a line. Scripts of packages are not run: none of these needs one. */
async function npmInstall(children) {
  const args = ['install', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const npm = children.start('npm', ['npm', ...args], { processor: 'load', cwd: FOLDER });
  const late = setTimeout(() => void children.stop(npm), INSTALL_TIMEOUT_MS);
  try {
    const [code, signal] = await npm.exited;
    return npm.errors.trim().split('\n')[0] || `npm ended with ${code ?? signal}`;
  } catch (error) {
    return error.message;
  } finally {
    clearTimeout(late);
  }
}

const readJson = (path) => JSON.parse(readFileSync(`${FOLDER}${path}`, 'utf8'));
