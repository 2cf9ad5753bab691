// Installs the dependencies where they are missing or not those of package-lock.json. Runs before npm start and npm
// test on whatever Node the machine has (18 or newer), so it uses nothing that would have to be installed first.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));

const why = staleness();
if (why !== undefined) {
  console.log(`Installing the dependencies (${why}) …`);
  process.exitCode = install();
}

/** Why an installation is due; undefined where what is installed is what the lock file asks for. */
function staleness() {
  const wanted = packagesIn('package-lock.json');
  if (wanted === undefined) return undefined;
  // npm writes this file last: after an installation that broke off it is not there.
  const installed = packagesIn('node_modules/.package-lock.json');
  if (installed === undefined) return 'none are installed';
  for (const [path, { version, optional, devOptional }] of Object.entries(wanted)) {
    if (path === '') continue;
    const found = installed[path];
    // An optional package may be one for another kind of machine.
    if (found === undefined && (optional === true || devOptional === true)) continue;
    if (found === undefined || found.version !== version)
      return `${path.replace(/^node_modules\//, '')} is not as locked`;
  }
  return undefined;
}

function packagesIn(path) {
  try {
    return JSON.parse(readFileSync(`${root}${path}`, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

function install() {
  // Under npm: the npm and the Node that run this script, not the ones that are about to be replaced.
  const { npm_execpath: npm, npm_node_execpath: node } = process.env;
  const windows = process.platform === 'win32';
  const [command, args] = npm && node ? [node, [npm]] : [windows ? 'npm.cmd' : 'npm', []];
  const { status, error } = spawnSync(command, [...args, 'ci', '--loglevel=error', '--no-progress'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: windows && args.length === 0,
  });
  if (error) console.error(`npm could not be run: ${error.message}`);
  return status ?? 1;
}
