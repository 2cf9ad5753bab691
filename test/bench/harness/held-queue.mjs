// The gateway's own queue, filled: one stream runs on an upstream that takes no other, and whoever comes waits.
import { setTimeout as delay } from 'node:timers/promises';
import { HELD_MODEL, HELD_UPSTREAM, NARROW_BAND } from './gateway-config.mjs';

const LOOK_EVERY_MS = 50;
const PATIENCE_MS = 20_000;
const DEPTH = new RegExp(`^admission_queue_depth\\{[^}]*upstream="${HELD_UPSTREAM}"[^}]*\\} (\\d+)$`, 'gmu');

/** One stream has the place; `release` ends it and all that have come to wait. */
export async function takeThePlace(load, gateway, token) {
  const { opened } = await load.run('hold', { to: gateway.to(token), connections: 1, model: HELD_MODEL });
  if (opened !== 1) throw new Error('the gateway did not serve the stream that was to hold its place');
}

/** So many streams wait behind it, and the gateway says so. */
export async function queueUp(load, gateway, token, connections) {
  await load.run('hold', { to: gateway.to(token), connections, model: HELD_MODEL, begun: false });
  await untilQueued(gateway, connections);
}

/** The queue of the narrow band has one in it, and with that is full. */
export async function fillNarrowBand(load, gateway, token) {
  await load.run('hold', { to: inNarrowBand(gateway.to(token)), connections: 1, model: HELD_MODEL, begun: false });
  await untilQueued(gateway, 1);
}

/** The same, asked for in the band in whose queue there is room for one. */
export const inNarrowBand = (to) => ({ ...to, headers: { ...to.headers, 'x-llmgw-band': NARROW_BAND } });

async function untilQueued(gateway, wanted) {
  let queued = 0;
  for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; await delay(LOOK_EVERY_MS)) {
    queued = [...(await gateway.metrics()).matchAll(DEPTH)].reduce((sum, [, depth]) => sum + Number(depth), 0);
    if (queued === wanted) return;
  }
  throw new Error(`of ${wanted} requests that were to wait in the gateway's queue, ${queued} do`);
}
