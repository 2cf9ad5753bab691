import { recorded } from '../report/figures.mjs';

const STREAMS = 100;
/** A relay that has not passed it on by then does not. */
const PATIENCE_MS = 2_000;
/** With the next chunk ten minutes away, and with one every 20 ms. */
const KINDS = { idle: 600_000, flowing: 20 };

/** How long after a client's close the engine notices it, for every target that is up. `run`: { load, token, engine, progress }. */
export async function measureLeaving(targets, { load, token, engine, progress }) {
  const found = {};
  for (const [name, target] of targets) {
    found[name] = {};
    for (const [kind, delayMs] of Object.entries(KINDS)) {
      const order = {
        to: target.to(token),
        enginePort: engine.port,
        connections: STREAMS,
        delayMs,
        patienceMs: PATIENCE_MS,
      };
      const { opened, noticed, delayMicros } = await load.run('leave', order);
      const { p50, p99 } = noticed > 0 ? delayMicros : {};
      found[name][kind] = { opened, noticed, p50Micros: recorded(p50), p99Micros: recorded(p99) };
    }
    const { idle, flowing } = found[name];
    progress(`leaving, ${name}: noticed ${idle.noticed} idle and ${flowing.noticed} flowing of ${STREAMS}`);
  }
  return found;
}
