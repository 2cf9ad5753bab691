import cluster, { type Worker } from 'node:cluster';
import { fileURLToPath } from 'node:url';
import { Line } from './line.js';
import type { Departure, WorkerProcess } from './supervisor.js';
import { BEGIN, HERE, type Beginning } from './topics.js';

const WORKER = fileURLToPath(new URL('../../worker.js', import.meta.url));

/**
 * The workers share the listening socket, and whoever is free takes the next connection. Where the primary deals them
 * out instead (round robin), the one that is on its way to a worker that is killed is never answered nor closed.
 */
export function setUpWorkers(): void {
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary({ exec: WORKER, args: [] });
}

/** Starts a worker and tells it who it is as soon as it asks. */
export function forkWorker(beginning: Beginning, gone: (departure: Departure) => void): WorkerProcess {
  const worker = cluster.fork();
  const line = new Line((message) => say(worker, message));
  line.on(HERE, () => line.post(BEGIN, beginning));
  worker.on('message', (message: unknown) => line.take(message));
  // A line that breaks while something is said is followed by the exit, which is what counts.
  worker.on('error', () => undefined);
  worker.on('exit', (code: number | null, signal: NodeJS.Signals | null) => gone(departureOf(code, signal)));
  const { index } = beginning;
  return { index, pid: worker.process.pid ?? 0, line, kill: () => void worker.process.kill('SIGKILL') };
}

function say(worker: Worker, message: object): void {
  if (worker.isConnected()) worker.send(message);
}

const departureOf = (code: number | null, signal: NodeJS.Signals | null): Departure =>
  signal === null ? { code: code ?? 1, how: `exit code ${String(code)}` } : { code: 1, how: `signal ${signal}` };
