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
  readFileSync,
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
const USAGE =
  'usage: node scripts/build-image.mjs --root FOLDER [--archive FILE.tar --tag COMMIT]\n' +
  'FOLDER is emptied, so it must be new, empty, or a root that this script made before.';
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const USERS = {
  'etc/passwd': 'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/nonexistent:/sbin/nologin\n',
  'etc/group': 'root:x:0:\nnonroot:x:65532:\n',
  'etc/nsswitch.conf': 'hosts: files dns\n',
};
/** Where the kernel and the cluster put things. */
const MOUNT_POINTS = ['proc', 'sys', 'dev', 'tmp', 'etc/gateway'];

/** Written first of all, and like no other system's. */
const MARK = 'etc/passwd';
/** The loader is in lib or lib64, other libraries may be in usr. */
const TOP_LEVEL = new Set(
  [...MOUNT_POINTS, ...Object.keys(USERS), IMAGE.entrypoint[0], IMAGE.workingDir, 'lib', 'lib64', 'usr'].map(
    (path) => path.replace(/^\//u, '').split('/')[0],
  ),
);

/** Why a folder must not be emptied to build in it, or undefined: it is absent, empty, or a root that this script made. */
export function faultOfRoot(folder) {
  if (!existsSync(folder)) return undefined;
  const allowed = '--root must name a new folder, an empty one, or one that this script made before';
  if (!statSync(folder).isDirectory()) return `${folder} is not a folder: ${allowed}`;
  const names = readdirSync(folder);
  const mark = join(folder, MARK);
  const isOurs = existsSync(mark) && readFileSync(mark, 'utf8') === USERS[MARK];
  const strangers = isOurs ? names.filter((name) => !TOP_LEVEL.has(name)) : names;
  if (strangers.length === 0) return undefined;
  return `${folder} holds what this script has not put there (${strangers.slice(0, 3).join(', ')}), and would be emptied: ${allowed}`;
}

/** Makes the file system in a folder, which is emptied first. Throws where that would lose something. */
export function buildRoot(folder) {
  const fault = faultOfRoot(folder);
  if (fault !== undefined) throw new Error(fault);
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

function wantedFrom(args) {
  const text = { type: 'string' };
  const { values } = parseArgs({ args, options: { root: text, archive: text, tag: text } });
  if (!values.root) throw new Error(`--root FOLDER is missing\n${USAGE}`);
  return values;
}

function main({ root, archive, tag }) {
  buildRoot(root);
  console.log(`${root}: ${(sizeOf(root) / 1e6).toFixed(1)} MB`);
  if (archive === undefined) return;
  const name = tag ?? execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim();
  commitImage(root, archive, name);
  console.log(`${archive}: api-gateway:${name}, ${(statSync(archive).size / 1e6).toFixed(1)} MB`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    main(wantedFrom(process.argv.slice(2)));
  } catch (error) {
    console.error(`build-image: ${error.message}`);
    process.exitCode = 1;
  }
}
