// node scripts/assemble-app.mjs FOLDER: all that the gateway needs at run time, and nothing else: dist, and of
// node_modules the packages of production without their types, maps, sources and tests. Needs a build and an installation,
// and no network.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** Node itself is put where the base image has it. */
const NODE_PACKAGES = /^node_modules\/node-(?:linux|bin)-[^/]+$/u;
const TYPES = /^node_modules\/@types\//u;
/** Read by people, compilers and debuggers. Licences stay. */
const NEEDLESS_FILES = /\.(?:d\.[cm]?ts|ts|tsx|map|md|markdown|flow|html|yml|tsbuildinfo)$/iu;
/** At the top of a package only: deeper down such a name may be a module's. */
const NEEDLESS_FOLDERS = new Set([
  ...['.github', 'benchmark', 'benchmarks', 'docs', 'example', 'examples'],
  ...['__tests__', 'spec', 'specs', 'test', 'tests'],
]);

/** Fills an empty folder. */
export function assembleApp(folder) {
  if (!existsSync(join(ROOT, 'dist/main.js'))) throw new Error('dist/main.js is missing: npm run build comes first');
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).length > 0) throw new Error(`${folder} is not empty: name a new folder or an empty one`);
  cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true });
  for (const path of productionPackages()) copyPackage(path, folder);
  const { name, version, license, type } = readJson('package.json');
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ name, version, license, private: true, type })}\n`);
}

function productionPackages() {
  const { packages } = readJson('package-lock.json');
  return Object.entries(packages)
    .filter(([path, { dev, devOptional, peer }]) => path !== '' && !dev && !devOptional && !peer)
    .map(([path]) => path)
    .filter((path) => !NODE_PACKAGES.test(path) && !TYPES.test(path) && existsSync(join(ROOT, path)));
}

function copyPackage(path, folder) {
  const from = join(ROOT, path);
  const isNeeded = (file) => {
    const [top = '', ...rest] = relative(from, file).split(sep);
    // Packages inside of packages are in the list themselves.
    if (top === 'node_modules') return false;
    if (rest.length === 0 && NEEDLESS_FOLDERS.has(top)) return false;
    return !NEEDLESS_FILES.test(basename(file));
  };
  cpSync(from, join(folder, path), { recursive: true, filter: isNeeded });
}

const readJson = (name) => JSON.parse(readFileSync(join(ROOT, name), 'utf8'));

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [folder] = process.argv.slice(2);
  try {
    if (!folder) throw new Error('usage: node scripts/assemble-app.mjs FOLDER (a new one, or empty)');
    assembleApp(folder);
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
