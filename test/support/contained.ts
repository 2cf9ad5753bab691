import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RunningGateway } from './start-gateway.js';

/** A user that the image has never heard of. */
export const STRANGER = 41_414;

/**
 * What a container runtime does, in a mount and process namespace of its own: the root read-only, /proc read-only, the
 * configuration mounted, and the program started by a stranger without capabilities and without a way to gain any.
 */
const SCRIPT = `
set -e
root=$1 config=$2 cgroup=$3
shift 3
if [ -n "$cgroup" ]; then echo $$ > "$cgroup/cgroup.procs"; fi
mount --bind "$root" "$root"
mount -o remount,bind,ro,nosuid,nodev "$root"
mount -t proc -o ro,nosuid,nodev,noexec proc "$root/proc"
mount -t sysfs -o ro,nosuid,nodev,noexec sysfs "$root/sys"
# Where the runtime shows the limits: one hierarchy, or one a resource.
if [ -d /sys/fs/cgroup/memory ]; then
  mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
  mkdir "$root/sys/fs/cgroup/memory"
  mount -o remount,ro "$root/sys/fs/cgroup"
  mount --bind -o ro /sys/fs/cgroup/memory "$root/sys/fs/cgroup/memory"
else
  mount --bind -o ro /sys/fs/cgroup "$root/sys/fs/cgroup"
fi
mount --bind -o ro "$config" "$root/etc/gateway"
program=$1
shift
exec capsh --drop=all --chroot="$root" --gid=${String(STRANGER)} --groups= --uid=${String(STRANGER)} --no-new-privs --shell="$program" -- "$@"
`;

export interface Containment {
  /** The root file system, as a folder. */
  readonly root: string;
  /** A folder that is mounted as /etc/gateway. */
  readonly config: string;
  readonly cgroup?: string;
}

/** Starts a program of the image; its first argument is its path in the image. */
export function runContained({ root, config, cgroup = '' }: Containment, command: readonly string[]) {
  const unshare = ['--mount', '--propagation', 'private', '--pid', '--fork'];
  return spawn('unshare', [...unshare, 'sh', '-c', SCRIPT, 'sh', root, config, cgroup, ...command], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`, NODE_ENV: 'production' },
  });
}

/** A gateway that runs as in its container. */
export class ContainedGateway {
  private constructor(
    readonly gateway: RunningGateway,
    private readonly outerPid: number,
  ) {}

  static async start(how: Containment, command: readonly string[]): Promise<ContainedGateway> {
    const child = runContained(how, command);
    const contained = new ContainedGateway(new RunningGateway(child), child.pid ?? 0);
    await contained.gateway.listening();
    return contained;
  }

  /** Of the gateway itself, in the eyes of this machine; undefined: it has ended. */
  get pid(): number | undefined {
    const children = `/proc/${String(this.outerPid)}/task/${String(this.outerPid)}/children`;
    const text = existsSync(children) ? readFileSync(children, 'utf8').trim() : '';
    return text === '' ? undefined : Number(text);
  }

  /** A file of /proc about it. */
  proc(name: string): string {
    return readFileSync(`/proc/${String(this.pid)}/${name}`, 'utf8');
  }

  signal(name: NodeJS.Signals): void {
    if (this.pid !== undefined) process.kill(this.pid, name);
  }
}

const V1 = '/sys/fs/cgroup/memory';
const V2 = '/sys/fs/cgroup';

/** A group of processes that may have only so much memory. */
export class MemoryGroup {
  private constructor(readonly folder: string) {}

  /** undefined: this machine lets nobody make one. */
  static make(limitBytes: number): MemoryGroup | undefined {
    const v1 = existsSync(join(V1, 'memory.limit_in_bytes'));
    const folder = join(v1 ? V1 : V2, `gateway-test-${String(process.pid)}`);
    try {
      mkdirSync(folder);
      writeFileSync(join(folder, v1 ? 'memory.limit_in_bytes' : 'memory.max'), String(limitBytes));
      return new MemoryGroup(folder);
    } catch {
      if (existsSync(folder)) rmdirSync(folder);
      return undefined;
    }
  }

  remove(): void {
    rmdirSync(this.folder);
  }
}
