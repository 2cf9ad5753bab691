import { readdir } from 'node:fs/promises';
import type { JsonObject } from './json.js';
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

/** Maps with so many entries are listed one by one. */
const LARGE = 1000;
/** Whoever counts all that a large heap holds takes a while. */
const TOLD_WITHIN_MS = 30_000;

/** Runs inside the gateway, before it: on SIGUSR2 it prints a line about the process, on SIGWINCH about its maps. */
const MODULE = `
import { Session } from 'node:inspector';
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
const sizes = 'function () { return this.map((each) => { try { return each.size } catch { return 0 } }) }';
process.on('SIGWINCH', () => {
  const session = new Session();
  session.connect();
  const ask = (method, params) => {
    let answer;
    session.post(method, params, (error, result) => { answer = result; });
    return answer;
  };
  const prototypeObjectId = ask('Runtime.evaluate', { expression: 'Map.prototype' }).result.objectId;
  const { objectId } = ask('Runtime.queryObjects', { prototypeObjectId }).objects;
  const { result } = ask('Runtime.callFunctionOn', { objectId, functionDeclaration: sizes, returnByValue: true });
  session.disconnect();
  const large = result.value.filter((entries) => entries >= ${String(LARGE)}).sort((a, b) => b - a);
  process.stdout.write(JSON.stringify({ msg: 'census', large }) + '\\n');
});
`;

/** The environment of a gateway that can be probed. */
export const PROBED = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(MODULE)}` };

/** Reads a gateway that was started with PROBED. */
export const probe = async (gateway: RunningGateway): Promise<ProbeReading> =>
  (await told(gateway, 'SIGUSR2', 'probe')) as unknown as ProbeReading;

/** The entries of each large map that a gateway started with PROBED holds, the largest first. */
export const largeMaps = async (gateway: RunningGateway): Promise<readonly number[]> =>
  (await told(gateway, 'SIGWINCH', 'census'))['large'] as number[];

/** The line that a signal makes the gateway print. */
function told(gateway: RunningGateway, signal: NodeJS.Signals, msg: string): Promise<JsonObject> {
  const line = gateway.nextLog(`"msg":"${msg}"`, TOLD_WITHIN_MS);
  gateway.kill(signal);
  return line;
}

/** Descriptors that the gateway has open; undefined where the system does not tell. */
export async function openFiles(gateway: RunningGateway): Promise<number | undefined> {
  return readdir(`/proc/${String(gateway.pid)}/fd`).then(
    (names) => names.length,
    () => undefined,
  );
}
