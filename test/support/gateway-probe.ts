import { readdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { RunningGateway } from './start-gateway.js';

/** What a gateway's process looks like from within. */
export interface ProbeReading {
  readonly rssBytes: number;
  /** After a collection. */
  readonly heapBytes: number;
  /** The heap and what it holds outside, after a collection. */
  readonly heldBytes: number;
  /** The longest time that the event loop stood still since the last reading. */
  readonly blockedMs: number;
  /** What the process has used of the processors since it began. */
  readonly cpuMs: number;
  /** Timers that are armed and were set by the gateway's own code. */
  readonly timers: number;
}

/** Runs inside the gateway, before it: on SIGUSR2 it prints a line about the process. */
const MODULE = `
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const loop = monitorEventLoopDelay({ resolution: 1 });
loop.enable();
const { setTimeout: arm, clearTimeout: disarm } = globalThis;
const armed = new Set();
globalThis.setTimeout = (callback, ms, ...rest) => {
  const timer = arm((...given) => { armed.delete(timer); callback(...given); }, ms, ...rest);
  armed.add(timer);
  return timer;
};
globalThis.clearTimeout = (timer) => { armed.delete(timer); disarm(timer); };
process.on('SIGUSR2', () => {
  const blockedMs = loop.max / 1e6;
  const { user, system } = process.cpuUsage();
  const before = process.memoryUsage();
  collect();
  const after = process.memoryUsage();
  // The collection itself is measured only when the loop turns again, and is not to count.
  arm(() => {
    loop.reset();
    process.stdout.write(JSON.stringify({
      msg: 'probe', blockedMs, cpuMs: (user + system) / 1000, timers: armed.size, rssBytes: before.rss,
      heapBytes: after.heapUsed, heldBytes: after.heapUsed + after.external,
    }) + '\\n');
  }, 10);
});
`;

/** The environment of a gateway that can be probed. */
export const PROBED = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(MODULE)}` };

/** Reads a gateway that was started with PROBED. */
export async function probe(gateway: RunningGateway): Promise<ProbeReading> {
  const readings = (): unknown[] => gateway.logs().filter(({ msg }) => msg === 'probe');
  const before = readings().length;
  gateway.kill('SIGUSR2');
  const deadline = performance.now() + 5000;
  while (readings().length === before) {
    if (performance.now() > deadline) throw new Error(`the gateway cannot be probed:\n${gateway.output()}`);
    await delay(5);
  }
  return readings().at(-1) as ProbeReading;
}

/** Descriptors that the gateway has open; undefined where the system does not tell. */
export async function openFiles(gateway: RunningGateway): Promise<number | undefined> {
  return readdir(`/proc/${String(gateway.pid)}/fd`).then(
    (names) => names.length,
    () => undefined,
  );
}
