import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CONFIG = join(ROOT, '.dependency-cruiser.cjs');

/** An import that a rule forbids: the file that makes it, and what it names. */
interface Plant {
  readonly rule: string;
  readonly from: string;
  readonly imports: string;
}

const plant = (rule: string, from: string, imports: string): Plant => ({ rule, from, imports });

/** At least one violation for each rule; a rule with several ways in has one for each way. */
const PLANTS: readonly Plant[] = [
  plant('auth-imports', 'src/modules/auth/a.ts', '../budgets/face.js'),
  plant('budgets-imports', 'src/modules/budgets/a.ts', '../auth/face.js'),
  plant('workers-imports', 'src/modules/workers/a.ts', '../telemetry/face.js'),
  plant('shared-store-imports', 'src/modules/shared-store/a.ts', '../budgets/face.js'),
  plant('engine-observer-imports', 'src/modules/engine-observer/a.ts', '../admission/face.js'),
  plant('admission-imports', 'src/modules/admission/a.ts', '../proxy/face.js'),
  plant('proxy-imports', 'src/modules/proxy/a.ts', '../dialects/face.js'),
  plant('dialects-imports', 'src/modules/dialects/a.ts', '../telemetry/face.js'),
  plant('dialects-imports', 'src/modules/dialects/b.ts', '../engine-observer/face.js'),
  plant('telemetry-imports', 'src/modules/telemetry/a.ts', '../dialects/face.js'),
  plant('health-imports', 'src/modules/health/a.ts', '../dialects/face.js'),
  plant('operator-imports', 'src/modules/operator/a.ts', '../telemetry/face.js'),
  plant('plugins-imports', 'src/modules/plugins/a.ts', '../telemetry/face.js'),
  plant('config-imports', 'src/modules/config/a.ts', '../auth/face.js'),
  plant('modules-are-listed', 'src/modules/novelty/a.ts', '../../common/floor.js'),
  plant('no-cycles', 'src/common/cycle-a.ts', './cycle-b.js'),
  plant('common-is-the-floor', 'src/common/a.ts', '../modules/auth/face.js'),
  plant('core-is-framework-free', 'src/common/b.ts', '@nestjs/common'),
  plant('core-is-framework-free', 'src/sim/core/a.ts', 'fastify'),
  plant('core-is-framework-free', 'src/modules/auth/core/a.ts', 'jwks-rsa'),
  plant('core-is-framework-free', 'src/modules/auth/core/b.ts', 'passport-jwt'),
  plant('core-is-framework-free', 'src/modules/telemetry/core/a.ts', 'prom-client'),
  plant('core-is-framework-free', 'src/modules/telemetry/core/b.ts', '@opentelemetry/api'),
  plant('core-is-framework-free', 'src/plugins/first/core/a.ts', 'rxjs'),
  plant('core-is-framework-free', 'src/modules/proxy/core/a.ts', 'undici'),
  plant('scenarios-imports', 'src/scenarios/a.ts', '../modules/auth/face.js'),
  plant('only-the-cli-runs-scenarios', 'src/modules/auth/e.ts', '../../scenarios/a.js'),
  plant('core-is-framework-free', 'src/scenarios/b.ts', 'undici'),
  plant('monitoring-imports', 'src/monitoring/a.ts', '../modules/telemetry/face.js'),
  plant('core-stays-home', 'src/modules/auth/core/c.ts', '../face.js'),
  plant('front-door-only', 'src/modules/admission/b.ts', '../budgets/core/inner.js'),
  plant('front-door-only-from-outside', 'src/app.module.ts', './modules/budgets/core/inner.js'),
  plant('front-door-only-from-outside', 'src/cli/a.ts', '../modules/budgets/core/inner.js'),
  plant('suffix-tells-the-layer', 'src/modules/auth/b.ts', '@nestjs/common'),
  plant('validators-in-config-only', 'src/modules/auth/c.ts', 'class-validator'),
  plant('validators-in-config-only', 'src/modules/auth/d.ts', 'class-transformer'),
  plant('dialects-are-strangers', 'src/modules/dialects/core/openai/a.ts', '../anthropic/inner.js'),
  plant('one-door-out', 'src/modules/proxy/b.ts', 'undici'),
  plant('one-door-out', 'src/modules/shared-store/b.ts', 'ioredis'),
  plant('one-door-out', 'src/plugins/first/a.ts', '@temporalio/client'),
  plant('sockets-have-their-place', 'src/modules/proxy/c.ts', 'ws'),
  plant('plugins-see-the-contract', 'src/plugins/first/b.ts', '../second/face.js'),
  plant('plugins-see-the-contract', 'src/plugins/first/c.ts', '../../modules/proxy/face.js'),
  plant('plugins-are-unknown', 'src/modules/plugins/b.ts', '../../plugins/first/face.js'),
  plant('tests-stay-out', 'src/common/c.ts', '../../test/support/anything.js'),
  plant('tests-stay-out', 'src/common/d.ts', './floor.spec.js'),
];

/** Edges that must stay allowed, or the rules would be kept by forbidding everything. */
const ALLOWED: readonly Omit<Plant, 'rule'>[] = [
  { from: 'src/modules/admission/good.ts', imports: '../budgets/face.js' },
  { from: 'src/modules/budgets/good.ts', imports: '../shared-store/face.js' },
  { from: 'src/modules/engine-observer/good.ts', imports: '../workers/face.js' },
  { from: 'src/modules/admission/good-too.ts', imports: '../shared-store/face.js' },
  { from: 'src/modules/shared-store/good-client.ts', imports: 'ioredis' },
  { from: 'src/modules/dialects/good.ts', imports: '../proxy/face.js' },
  { from: 'src/modules/config/good.ts', imports: '../auth/auth.config.js' },
  { from: 'src/modules/auth/auth.config.ts', imports: 'class-validator' },
  { from: 'src/modules/auth/core/good.ts', imports: '../../../common/floor.js' },
  { from: 'src/modules/auth/good.guard.ts', imports: '@nestjs/common' },
  { from: 'src/modules/proxy/good-client.ts', imports: 'undici' },
  { from: 'src/modules/proxy/websocket.ts', imports: 'ws' },
  { from: 'src/plugins/first/good.ts', imports: '../../modules/plugins/gateway-plugin.js' },
  { from: 'src/installed-plugins.ts', imports: './plugins/first/face.js' },
  { from: 'src/common/good.spec.ts', imports: '../../test/support/anything.js' },
];

const MODULES = [
  'workers',
  'auth',
  'budgets',
  'engine-observer',
  'admission',
  'proxy',
  'dialects',
  'telemetry',
  'shared-store',
];

/** What the planted imports point at. */
const TARGETS: readonly string[] = [
  ...MODULES.map((name) => `src/modules/${name}/face.ts`),
  'src/modules/plugins/gateway-plugin.ts',
  'src/modules/budgets/core/inner.ts',
  'src/modules/dialects/core/anthropic/inner.ts',
  'src/plugins/first/face.ts',
  'src/plugins/second/face.ts',
  'src/common/floor.ts',
  'src/common/floor.spec.ts',
  'test/support/anything.ts',
];

const LIMIT_MS = 60_000;

describe('the rules about who may import whom', () => {
  let broken: readonly Violation[];

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'boundaries-'));
    try {
      await plantAll(folder);
      broken = await violationsIn(folder);
    } finally {
      await rm(folder, { recursive: true });
    }
  }, LIMIT_MS);

  it.each(PLANTS)('$rule catches $from with $imports', ({ rule, from }) => {
    expect(broken).toContainEqual({ rule, from });
  });

  it.each(ALLOWED)('$from may have $imports', ({ from }) => {
    expect(broken.filter((violation) => violation.from === from)).toEqual([]);
  });

  it('have a violation planted for each of them', () => {
    const { forbidden } = createRequire(import.meta.url)(CONFIG) as { forbidden: { name: string }[] };
    const planted = new Set(PLANTS.map(({ rule }) => rule));
    expect(forbidden.map(({ name }) => name).filter((name) => !planted.has(name))).toEqual([]);
  });

  it('are kept by this repository', async () => expect(await violationsIn(ROOT)).toEqual([]), LIMIT_MS);
});

interface Violation {
  readonly rule: string;
  readonly from: string;
}

async function plantAll(folder: string): Promise<void> {
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await write(folder, 'tsconfig.json', '{"compilerOptions":{"module":"nodenext","moduleResolution":"nodenext"}}');
  for (const path of TARGETS) await write(folder, path, 'export type Target = string;\n');
  await write(
    folder,
    'src/common/cycle-b.ts',
    `import type { Planted } from './cycle-a.js';\nexport type Target = Planted;\n`,
  );
  for (const { from, imports } of [...PLANTS, ...ALLOWED]) {
    await write(folder, from, `import type { Target } from '${imports}';\nexport type Planted = Target;\n`);
  }
}

async function write(folder: string, path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
}

/** Runs the checker as `npm run deps` does; it exits with the number of violations. */
async function violationsIn(folder: string): Promise<Violation[]> {
  const program = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
  const args = [program, '--config', CONFIG, '--output-type', 'json', 'src'];
  const output = await new Promise<string>((resolve, reject) => {
    execFile(process.execPath, args, { cwd: folder, maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      if (stdout === '') reject(new Error(`the checker printed nothing: ${stderr}`, { cause: error }));
      else resolve(stdout);
    });
  });
  const { summary } = JSON.parse(output) as { summary: { violations: { rule: { name: string }; from: string }[] } };
  return summary.violations.map(({ rule, from }) => ({ rule: rule.name, from }));
}
