import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { gatewayYaml, type GatewayOptions } from './gateway-config.js';
import { isObject, parseJson, type JsonObject } from './json.js';
import { findSample, type Labels } from './metric-samples.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 20_000;

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface StartOptions {
  /** All that the gateway sees of the environment, besides PATH. */
  readonly env?: Readonly<Record<string, string>>;
  /** The program to run instead of the built gateway. */
  readonly program?: string;
}

/** Starts the built gateway as its users do; settles when it listens. A start that fails rejects with its output. */
export async function startGateway(
  config: string | GatewayOptions,
  { env = {}, program = MAIN }: StartOptions = {},
): Promise<RunningGateway> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-'));
  const file = join(folder, 'gateway.yaml');
  await writeFile(file, typeof config === 'string' ? config : gatewayYaml(config));
  const child = spawn(process.execPath, [program, 'serve', '--config', file], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] ?? '', ...env },
  });
  const gateway = new RunningGateway(child);
  try {
    await gateway.listening();
    return gateway;
  } catch (error) {
    await gateway.stop('SIGKILL');
    throw error;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A gateway in a process of its own. Whoever starts it stops it. */
export class RunningGateway {
  private readonly lines: string[] = [];
  private readonly errors: string[] = [];
  private readonly exited: Promise<Exit>;
  private readonly killWithTests: () => void;
  private readonly listeners = new Set<(line: string) => void>();
  private addresses: { listen: string; management: string } | undefined;

  constructor(private readonly child: ChildProcessByStdio<null, Readable, Readable>) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.lines.push(line);
      for (const hear of this.listeners) hear(line);
    });
    createInterface({ input: child.stderr }).on('line', (line) => this.errors.push(line));
    this.killWithTests = () => child.kill('SIGKILL');
    process.once('exit', this.killWithTests);
    // `close` comes after the last line of output, `exit` may come before it.
    this.exited = once(child, 'close').then(([code, signal]) => {
      process.removeListener('exit', this.killWithTests);
      return { code: code as number | null, signal: signal as NodeJS.Signals | null };
    });
  }

  /** The public listener, as `http://127.0.0.1:PORT`. */
  get origin(): string {
    return `http://${this.known().listen}`;
  }

  get port(): number {
    return Number(new URL(this.origin).port);
  }

  get managementOrigin(): string {
    return `http://${this.known().management}`;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Every JSON line that the gateway has printed. */
  logs(): JsonObject[] {
    return this.lines.map(parseJson).filter(isObject);
  }

  /** The next JSON line with this text in it; rejects where it does not come in time. Cheaper than to look for it. */
  async nextLog(text: string, withinMs: number): Promise<JsonObject> {
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    const hear = (line: string): void => {
      const entry = line.includes(text) ? parseJson(line) : undefined;
      if (isObject(entry)) resolve(entry);
    };
    this.listeners.add(hear);
    const timer = setTimeout(() => {
      reject(new Error(`no ${text} within ${String(withinMs)} ms; at last:\n${this.output().slice(-2000)}`));
    }, withinMs);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.listeners.delete(hear);
    }
  }

  /** All that was printed on both outputs, as text. */
  output(): string {
    return [...this.lines, ...this.errors].join('\n');
  }

  async metrics(): Promise<string> {
    const response = await fetch(`${this.managementOrigin}/metrics`);
    return response.text();
  }

  /** The sum of the series that have these labels (and any others); undefined where there is none. */
  async metric(name: string, labels: Labels = {}): Promise<number | undefined> {
    return findSample(await this.metrics(), name, labels);
  }

  /** How the process ends, when it does. */
  exit(): Promise<Exit> {
    return this.exited;
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Ends the gateway and waits for that; one that does not go is killed after a while. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill(signal);
    const killer = setTimeout(() => this.child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    try {
      return await this.exited;
    } finally {
      clearTimeout(killer);
    }
  }

  /** Settles when the line that says so has been printed. */
  async listening(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const hear = (line: string): void => {
      const entry = parseJson(line);
      if (!isObject(entry) || entry['msg'] !== 'listening') return;
      this.addresses = { listen: String(entry['listen']), management: String(entry['management']) };
      resolve(undefined);
    };
    this.listeners.add(hear);
    const fail = (why: string): void => {
      reject(new Error(`${why}:\n${this.output()}`));
    };
    const timer = setTimeout(() => {
      fail(`the gateway did not listen within ${String(START_TIMEOUT_MS)} ms`);
    }, START_TIMEOUT_MS);
    void this.exited.then(({ code, signal }) => {
      fail(`the gateway ended (${String(code ?? signal)}) before it listened`);
    });
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.listeners.delete(hear);
    }
  }

  private known(): { listen: string; management: string } {
    if (this.addresses === undefined) throw new Error('the gateway does not listen yet');
    return this.addresses;
  }
}
