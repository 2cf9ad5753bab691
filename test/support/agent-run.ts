import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';

const LOOPBACK_ONLY = new URL('agent-loopback-only.ts', import.meta.url).href;
const RUN_TIMEOUT_MS = 50_000;

/** How to start an agent against a gateway. */
export interface AgentCommand {
  /** The program, as the path of a script for Node. */
  readonly script: string;
  readonly args: readonly string[];
  /** All that it sees of the environment, besides PATH and folders of its own. */
  readonly env: Readonly<Record<string, string>>;
  /** Its settings, by their path below the home folder. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface AgentEnd {
  /** null: it was killed, having taken too long. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Hosts other than this machine that it tried to connect to, and could not. */
  readonly outsideHosts: readonly string[];
}

/** The folders of one agent: a home that is empty but for its settings, and one that it works in. */
export class AgentFolder {
  private constructor(private readonly root: string) {}

  static async make(): Promise<AgentFolder> {
    const folder = new AgentFolder(await mkdtemp(join(tmpdir(), 'agent-')));
    await Promise.all([mkdir(folder.home), mkdir(folder.work)]);
    return folder;
  }

  get home(): string {
    return join(this.root, 'home');
  }

  get work(): string {
    return join(this.root, 'work');
  }

  private get outsideHosts(): string {
    return join(this.root, 'outside-hosts');
  }

  /** Runs an agent to its end, and ends whatever it leaves running. */
  async run({ script, args, env, settings }: AgentCommand): Promise<AgentEnd> {
    await this.writeSettings(settings);
    await writeFile(this.outsideHosts, '');
    const child = spawn(process.execPath, ['--import', LOOPBACK_ONLY, script, ...args], {
      cwd: this.work,
      stdio: ['ignore', 'pipe', 'pipe'],
      // A process group of its own, so that its children can be ended with it.
      detached: true,
      env: { ...this.surroundings(), ...env },
    });
    const endGroup = (): void => killGroup(child.pid);
    const killer = setTimeout(endGroup, RUN_TIMEOUT_MS);
    process.once('exit', endGroup);
    const outputs = Promise.all([text(child.stdout), text(child.stderr)]);
    const [code] = (await once(child, 'exit')) as [number | null];
    clearTimeout(killer);
    process.removeListener('exit', endGroup);
    // A child left behind would hold the outputs open.
    endGroup();
    const [stdout, stderr] = await outputs;
    return { code, stdout, stderr, outsideHosts: lines(await readFile(this.outsideHosts, 'utf8')) };
  }

  async remove(): Promise<void> {
    await rm(this.root, { recursive: true, maxRetries: 5 });
  }

  private async writeSettings(settings: AgentCommand['settings']): Promise<void> {
    for (const [path, content] of Object.entries(settings)) {
      const file = join(this.home, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content);
    }
  }

  private surroundings(): Record<string, string> {
    return {
      PATH: process.env['PATH'] ?? '',
      HOME: this.home,
      TMPDIR: this.root,
      XDG_CONFIG_HOME: join(this.home, '.config'),
      XDG_DATA_HOME: join(this.home, '.local/share'),
      XDG_STATE_HOME: join(this.home, '.local/state'),
      XDG_CACHE_HOME: join(this.home, '.cache'),
      OUTSIDE_HOSTS_FILE: this.outsideHosts,
      NO_COLOR: '1',
    };
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nobody of the group is left.
  }
}

const lines = (page: string): string[] => [...new Set(page.split('\n').filter((line) => line !== ''))];
