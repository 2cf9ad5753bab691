// node scripts/build-image.mjs --root FOLDER [--archive FILE.tar --tag COMMIT]: the file system that the Dockerfile makes, where no
// registry of images can be reached: node as installed from npm, the libraries that it is linked with, root
// certificates, and the gateway. With --archive it becomes an image, by buildah.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { assembleApp } from './assemble-app.mjs';

/** As in the Dockerfile; the image test holds the two against each other. */
export const IMAGE = {
  user: '65532:65532',
  workingDir: '/app',
  entrypoint: [
    '/nodejs/bin/node',
    '--disable-sigusr1',
    '--max-old-space-size-percentage=50',
    '--max-semi-space-size=6',
    '--heap-growing-percent=100',
    '--no-memory-reducer-favors-memory',
    '--no-maglev-destroy-on-background',
    '/app/dist/main.js',
  ],
  command: ['serve'],
  env: { NODE_ENV: 'production' },
};

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const USERS = {
  'etc/passwd': 'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/nonexistent:/sbin/nologin\n',
  'etc/group': 'root:x:0:\nnonroot:x:65532:\n',
  'etc/nsswitch.conf': 'hosts: files dns\n',
};
/** Where the kernel and the cluster put things. */
const MOUNT_POINTS = ['proc', 'sys', 'dev', 'tmp', 'etc/gateway'];

/** Makes the file system in a folder, which is emptied first. */
export function buildRoot(folder) {
  rmSync(folder, { recursive: true, force: true });
  for (const name of MOUNT_POINTS) mkdirSync(join(folder, name), { recursive: true });
  for (const [name, text] of Object.entries(USERS)) writeFileSync(join(folder, name), text);
  const node = nodeBinary();
  copyTo(folder, node, IMAGE.entrypoint[0]);
  chmodSync(join(folder, IMAGE.entrypoint[0]), 0o755);
  for (const library of librariesOf(node)) copyTo(folder, library, library);
  if (existsSync(CERTIFICATES)) copyTo(folder, CERTIFICATES, CERTIFICATES);
  assembleApp(join(folder, IMAGE.workingDir));
}

/** The one that package-lock.json names for this machine, so that the image runs what the tests ran. */
function nodeBinary() {
  const locked = join(ROOT, `node_modules/node-linux-${process.arch}/bin/node`);
  return existsSync(locked) ? locked : process.execPath;
}

/** The loader is one of them. */
function librariesOf(binary) {
  const lines = execFileSync('ldd', [binary], { encoding: 'utf8' }).split('\n');
  return lines.flatMap((line) => /(?:=> )?(\/\S+) \(0x/u.exec(line)?.[1] ?? []);
}

function copyTo(folder, from, to) {
  const target = join(folder, to);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(realpathSync(from), target);
}

/** Bytes of all files below a folder. */
export function sizeOf(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

function commitImage(folder, archive, tag) {
  const buildah = (...args) => execFileSync('buildah', args, { encoding: 'utf8' }).trim();
  const container = buildah('from', 'scratch');
  try {
    buildah('copy', '--quiet', container, folder, '/');
    const { user, workingDir, entrypoint, command, env } = IMAGE;
    const variables = Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
    const how = ['--user', user, '--workingdir', workingDir, '--cmd', command.join(' '), ...variables];
    buildah('config', '--entrypoint', JSON.stringify(entrypoint), ...how, container);
    buildah('commit', '--quiet', container, `oci-archive:${archive}:${tag}`);
  } finally {
    buildah('rm', container);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = { type: 'string' };
  const { values } = parseArgs({ options: { root: text, archive: text, tag: text } });
  if (values.root === undefined)
    throw new Error('usage: build-image.mjs --root FOLDER [--archive FILE.tar --tag COMMIT]');
  buildRoot(values.root);
  console.log(`${values.root}: ${(sizeOf(values.root) / 1e6).toFixed(1)} MB`);
  if (values.archive !== undefined) {
    const tag = values.tag ?? execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim();
    commitImage(values.root, values.archive, tag);
    console.log(`${values.archive}: api-gateway:${tag}, ${(statSync(values.archive).size / 1e6).toFixed(1)} MB`);
  }
}
