import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { chooseProcessors, processTree } from './processors.mjs';

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 5_000;
const LOOK_EVERY_MS = 25;
const KEPT_ERROR_CHARACTERS = 2_000;

/** A process that the bench has started. */
class Child {
  /** The end of what it wrote to standard error. */
  errors = '';

  constructor(name, process) {
    this.name = name;
    this.process = process;
    process.stderr?.on('data', (bytes) => {
      this.errors = (this.errors + bytes).slice(-KEPT_ERROR_CHARACTERS);
    });
    this.exited = once(process, 'exit');
    // Whoever waits for it is told; nobody has to.
    this.exited.catch(() => undefined);
  }

  get running() {
    return this.process.pid !== undefined && this.process.exitCode === null && this.process.signalCode === null;
  }

  /** It and what it has started. */
  get pids() {
    return processTree(this.process.pid);
  }

  failure(what) {
    return new Error(`${this.name} ${what}${this.errors === '' ? '' : `:\n${this.errors.trim()}`}`);
  }
}

/** All that the bench has started. Each is ended by its id, whatever ends the bench. */
export class Children {
  #children = new Set();
  #ending = false;
  #pinned = spawnSync('taskset', ['--version']).status === 0;
  processors = chooseProcessors();

  constructor() {
    process.once('exit', () => this.#killAll());
  }

  /** Whether what is measured has a processor that nothing else of the bench runs on. */
  get apart() {
    return this.#pinned && this.processors.load !== this.processors.target;
  }

  /** `processor`: load or target. `output`: where its standard output goes. `channel`: there is an IPC channel to it. */
  start(name, command, { processor, env = {}, cwd, output = 'ignore', channel = false }) {
    if (this.#ending) throw new Error(`${name} is not started any more: all is being ended`);
    const pinned = this.#pinned ? ['taskset', '-c', String(this.processors[processor]), ...command] : command;
    const [program, ...args] = pinned;
    const stdio = ['ignore', output, 'pipe', ...(channel ? ['ipc'] : [])];
    const child = new Child(name, spawn(program, args, { stdio, cwd, env: { ...process.env, ...env } }));
    this.#children.add(child);
    child.exited.then(
      () => this.#children.delete(child),
      () => this.#children.delete(child),
    );
    return child;
  }

  async stop(child) {
    if (!child.running) return;
    const { pids } = child;
    child.process.kill('SIGTERM');
    const late = setTimeout(() => pids.forEach(kill), STOP_TIMEOUT_MS);
    await child.exited;
    clearTimeout(late);
  }

  async stopAll() {
    this.#ending = true;
    await Promise.all([...this.#children].map((child) => this.stop(child)));
  }

  #killAll() {
    for (const child of this.#children) if (child.running) child.pids.forEach(kill);
  }
}

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/** Settles when the child answers there with 2xx. Rejects when it has ended, or takes too long. */
export async function untilHealthy(child, url) {
  for (
    const deadline = performance.now() + START_TIMEOUT_MS;
    performance.now() < deadline;
    await delay(LOOK_EVERY_MS)
  ) {
    if (!child.running) throw child.failure('ended before it answered');
    const answer = await fetch(url).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer?.ok) return;
  }
  throw child.failure(`did not answer at ${url} within ${START_TIMEOUT_MS / 1000} s`);
}
