import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const START_TIMEOUT_MS = 10_000;

/** A real Redis on a free port of the loopback, which forgets everything when it ends. Whoever starts it stops it. */
export class RedisServer {
  private child: ChildProcess | undefined;
  private readonly killWithTests = (): void => {
    this.child?.kill('SIGKILL');
  };

  private constructor(
    readonly port: number,
    private readonly folder: string,
  ) {
    process.once('exit', this.killWithTests);
  }

  static async start(): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), await mkdtemp(join(tmpdir(), 'redis-')));
    await server.restart();
    return server;
  }

  /** As the configuration writes it. */
  get url(): string {
    return `redis://127.0.0.1:${String(this.port)}/0`;
  }

  /** Starts it again, empty, on the port that it had; ends the one that runs. */
  async restart(): Promise<void> {
    await this.kill();
    const own = ['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.folder];
    const child = spawn('redis-server', [...own, '--save', '', '--appendonly', 'no', '--daemonize', 'no'], {
      stdio: 'ignore',
    });
    this.child = child;
    const deadline = performance.now() + START_TIMEOUT_MS;
    while (!(await this.answers())) {
      if (child.exitCode !== null || performance.now() > deadline) throw new Error('redis-server did not start');
      await delay(20);
    }
  }

  /** It stands still: connections stay open, and nothing is answered. */
  pause(): void {
    this.child?.kill('SIGSTOP');
  }

  resume(): void {
    this.child?.kill('SIGCONT');
  }

  /** Ends it at once, as a crash would; settles when it is gone. */
  async kill(): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  async stop(): Promise<void> {
    await this.kill();
    process.removeListener('exit', this.killWithTests);
    await rm(this.folder, { recursive: true, force: true });
  }

  /** The first line of its answer to an inline command. */
  async command(line: string): Promise<string> {
    const socket = connect({ port: this.port, host: '127.0.0.1' });
    try {
      socket.write(`${line}\r\n`);
      const [bytes] = (await once(socket, 'data')) as [Buffer];
      return bytes.toString('utf8').split('\r\n')[0] ?? '';
    } finally {
      socket.destroy();
    }
  }

  private answers(): Promise<boolean> {
    return this.command('PING').then(
      (line) => line === '+PONG',
      () => false,
    );
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
