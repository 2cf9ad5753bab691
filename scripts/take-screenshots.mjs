// Takes the pictures of the operator's page in docs/: the test that looks at the page on every screen keeps what it sees.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const args = [
  '--experimental-vm-modules',
  '--no-warnings',
  'node_modules/jest/bin/jest.js',
  'test/e2e/operator-screens',
];
const { status } = spawnSync(process.execPath, args, {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, SCREENSHOTS: 'docs' },
});
process.exitCode = status ?? 1;
