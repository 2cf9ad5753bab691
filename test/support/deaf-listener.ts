import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const PROGRAM = `
const server = require('node:net').createServer();
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port));
`;
/** More than the backlog holds, whatever the system adds to it. */
const MOST_CALLERS = 16;
const CONNECT_WITHIN_MS = 150;

/** An address at which no connection comes about: a stopped process listens there, and its backlog is full. */
export class DeafListener {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
    private readonly callers: readonly Socket[],
  ) {}

  static async start(): Promise<DeafListener> {
    const child = spawn(process.execPath, ['-e', PROGRAM], { stdio: ['ignore', 'pipe', 'inherit'] });
    process.once('exit', () => child.kill('SIGKILL'));
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const port = Number(line.toString());
    child.kill('SIGSTOP');
    const callers: Socket[] = [];
    while (callers.length < MOST_CALLERS) {
      const caller = connect({ port, host: '127.0.0.1' });
      caller.on('error', () => undefined);
      callers.push(caller);
      const connected = await Promise.race([once(caller, 'connect'), delay(CONNECT_WITHIN_MS)]);
      if (connected === undefined) break;
    }
    return new DeafListener(`http://127.0.0.1:${String(port)}`, child, callers);
  }

  stop(): void {
    for (const caller of this.callers) caller.destroy();
    this.child.kill('SIGKILL');
  }
}
