// The real programs that tests start beside the gateway. On Debian as root the missing ones are installed; elsewhere
// they are named, and the tests that need one fail by its name.
import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Program to Debian package. */
const PROGRAMS = {
  'redis-server': 'redis-server',
  nginx: 'nginx-light',
  chromium: 'chromium',
  promtool: 'prometheus',
  kubectl: 'kubernetes-client',
  capsh: 'libcap2-bin',
};

const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];

const isThere = (program) =>
  FOLDERS.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });

const missing = () => Object.keys(PROGRAMS).filter((program) => !isThere(program));

const apt = (...args) => {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  return spawnSync('apt-get', args, { env, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0;
};

if (missing().length > 0 && process.getuid?.() === 0 && isThere('apt-get')) {
  const packages = missing().map((program) => PROGRAMS[program]);
  console.error(`Installing what the tests start: ${packages.join(', ')}`);
  apt('update', '-qq');
  apt('install', '-y', '-qq', '--no-install-recommends', ...packages);
}

const absent = missing();
if (absent.length > 0)
  console.error(`Not on this machine, and the tests that start them will fail: ${absent.join(', ')}`);
