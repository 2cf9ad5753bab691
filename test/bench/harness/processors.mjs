// Which processors the bench has, and what a process has used of them. Linux only: it reads /proc.
import { readdirSync, readFileSync } from 'node:fs';

/** Processors that this process may run on. */
function allowedProcessors() {
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1] ?? '0';
  return list.split(',').flatMap((part) => {
    const [first, last = first] = part.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  });
}

/** One for engine and load generator, one for what is measured; the same one where there is no other. */
export function chooseProcessors() {
  const [load, target = load] = allowedProcessors();
  return { load, target };
}

/** A process and all that descend from it. */
export function processTree(root) {
  const tree = [root];
  for (const pid of tree) tree.push(...childrenOf(pid));
  return tree;
}

function childrenOf(pid) {
  return tasksOf(pid).flatMap((task) =>
    read(`/proc/${pid}/task/${task}/children`).split(' ').filter(Boolean).map(Number),
  );
}

/** Microseconds of processor, to the nanosecond: of the threads that live, so take the difference over a short time. */
export function cpuMicros(pids) {
  let nanos = 0;
  for (const pid of pids) {
    for (const task of tasksOf(pid)) nanos += Number(read(`/proc/${pid}/task/${task}/schedstat`).split(' ')[0]);
  }
  return nanos / 1000;
}

/** Resident memory. */
export function rssMebibytes(pids) {
  const kibibytes = pids.map((pid) => Number(/^VmRSS:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0));
  return kibibytes.reduce((sum, one) => sum + one, 0) / 1024;
}

/** Nothing where the process or thread has ended. */
function read(path) {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function tasksOf(pid) {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}
