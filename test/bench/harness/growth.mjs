import { recorded, show } from '../report/figures.mjs';
import { warm } from './memory.mjs';
import { rssMebibytes } from './processors.mjs';

const PORTIONS = 10;
const CHUNKS = 1_000_000;
const STREAMS = 64;
const ABORTED_STREAMS = 50_000;
const LEAVERS = 32;
const LONGEST_PORTION_SECONDS = 120;
const COLUMNS = ['bare', 'gateway'];

/** Memory over a million chunks and fifty thousand streams that are left. `run` as for the parked ones. */
export async function measureGrowth(run) {
  const found = {};
  for (const name of COLUMNS.filter((column) => run.names.includes(column))) {
    const target = await run.start(name);
    await warm(target, run);
    found[name] = {
      warmMebibytes: recorded(rssMebibytes(target.pids)),
      chunks: await inPortions(target, run, 'chunks', (order) => chunksOf(order, run)),
      aborts: await inPortions(target, run, 'aborted streams', (order) => abortsOf(order, run)),
    };
    await run.stop(target);
  }
  return found;
}

/** `[{ done, mebibytes }, …]`: what has been done altogether, and the memory then. */
async function inPortions(target, { token, progress }, what, send) {
  const readings = [];
  let done = 0;
  for (let portion = 0; portion < PORTIONS; portion += 1) {
    const { units, errors } = await send({ to: target.to(token) });
    if (errors > 0) throw new Error(`${target.name}: ${errors} ${what} failed`);
    done += units;
    const mebibytes = rssMebibytes(target.pids);
    readings.push({ done, mebibytes: recorded(mebibytes) });
    progress(`growth, ${target.name}: ${done} ${what}, ${show(mebibytes)} MiB`);
  }
  return readings;
}

function chunksOf(order, { load, scale }) {
  const chunks = Math.ceil((CHUNKS * scale) / PORTIONS / STREAMS);
  return load.run('stream', { ...order, connections: STREAMS, chunks, delayMs: 1 });
}

function abortsOf(order, { load, scale }) {
  const requests = Math.ceil((ABORTED_STREAMS * scale) / PORTIONS);
  return load.run('abort', { ...order, connections: LEAVERS, requests, seconds: LONGEST_PORTION_SECONDS });
}
