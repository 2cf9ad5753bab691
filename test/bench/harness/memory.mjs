import { setTimeout as delay } from 'node:timers/promises';
import { recorded, show } from '../report/figures.mjs';
import { warmScale } from './compare.mjs';
import { queueUp, takeThePlace } from './held-queue.mjs';
import { COMPARISONS } from './modes.mjs';
import { rssMebibytes } from './processors.mjs';

const STREAMS = 1_000;
const SETTLE_MS = 2_000;
const PARKED_MODEL = 'stub-600000ms';

/** The gateway's streams once at the engine, and once before they have a place there. */
const CELLS = {
  bare: ['bare'],
  gateway: ['gateway', 'gateway, waiting'],
  nginx: ['nginx'],
  'http-proxy': ['http-proxy'],
  portkey: ['portkey'],
};

/**
 * What a thousand streams that have sent one chunk take of memory, each target afresh and warm.
 * `run`: { names, load, token, scale, start, stop, progress }.
 */
export async function measureParked(run) {
  const found = {};
  for (const column of run.names.flatMap((name) => CELLS[name] ?? [])) {
    const target = await run.start(column.split(',')[0]);
    found[column] = await parkOn(target, column, run);
    await run.stop(target);
    const { idleMebibytes, heldMebibytes } = found[column];
    run.progress(`parked, ${column}: ${show(idleMebibytes)} MiB, with ${STREAMS} streams ${show(heldMebibytes)} MiB`);
  }
  return found;
}

async function parkOn(target, column, { load, token, scale }) {
  await warm(target, { load, token, scale });
  const { pids } = target;
  const idleMebibytes = rssMebibytes(pids);
  if (column.endsWith('waiting')) {
    await takeThePlace(load, target, token);
    await queueUp(load, target, token, STREAMS);
  } else {
    const { opened } = await load.run('hold', { to: target.to(token), connections: STREAMS, model: PARKED_MODEL });
    if (opened !== STREAMS) throw new Error(`${column}: of ${STREAMS} streams ${opened} have begun`);
  }
  await delay(SETTLE_MS);
  const heldMebibytes = rssMebibytes(pids);
  await load.run('release');
  return { streams: STREAMS, idleMebibytes: recorded(idleMebibytes), heldMebibytes: recorded(heldMebibytes) };
}

/** As for the comparisons, so that the heap is as large as work makes it. */
export async function warm(target, { load, token, scale }) {
  const { order, warm: most } = COMPARISONS.unary;
  const shortened = warmScale(scale);
  const terms = { requests: Math.ceil(most.requests * shortened), seconds: most.seconds * shortened };
  await load.run('unary', { ...order, ...terms, to: target.to(token) });
}
