import { register } from 'prom-client';
import { compactHeap, endOnFaults, endOnSignals } from './boot.js';
import { Gateway } from './http-server.js';
import { parseConfig } from './modules/config/load-config.js';
import { pageFrom } from './modules/telemetry/worker-pages.js';
import { Line } from './modules/workers/line.js';
import {
  BEGIN,
  END,
  FAILED,
  HERE,
  LEAVING,
  METRICS,
  READ_METRICS,
  READY,
  type Beginning,
} from './modules/workers/topics.js';
import { WorkerLink } from './modules/workers/worker-link.js';
import { Shutdown } from './shutdown.js';

/** Runs one of a gateway's workers until the primary ends it, or a fault does; the exit code. */
async function runWorker(line: Line, { index, workers, text, file, env }: Beginning): Promise<number> {
  const { config } = parseConfig(text, file, env);
  const gateway = await Gateway.start(config, {
    link: new WorkerLink({ index, workers, line }),
    ready: compactHeap,
  });
  const { log } = gateway.telemetry;
  const shutdown = new Shutdown(gateway, config.server, log);
  line.on(END, ({ reason }) => shutdown.begin(reason));
  line.on(READ_METRICS, ({ turn }) => void tellMetrics(line, turn));
  endOnFaults(log, (kind) => {
    line.post(LEAVING, { reason: kind });
    shutdown.begin(kind, 1);
  });
  line.post(READY, { listen: gateway.addresses().listen });
  const code = await shutdown.ended;
  log.info({ code }, 'ended');
  await gateway.telemetry.end();
  return code;
}

async function tellMetrics(line: Line, turn: number): Promise<void> {
  line.post(METRICS, { turn, page: pageFrom(await register.getMetricsAsJSON()) });
}

/** Ends when what was said last has been heard. */
function fail(message: string): void {
  process.send?.({ llmgw: FAILED.name, body: { message } }, undefined, undefined, () => process.exit(1));
}

const line = new Line((message) => {
  if (process.connected) process.send?.(message);
});
process.on('message', (message) => line.take(message));
// A terminal and some supervisors tell every process of a group: the primary alone is to hear it, and tells the workers.
endOnSignals(() => undefined);
line.on(END, () => process.exit(0));
line.on(BEGIN, (beginning) => {
  runWorker(line, beginning).then(
    (code) => process.exit(code),
    (error: unknown) => fail(error instanceof Error ? error.message : String(error)),
  );
});
line.post(HERE, null);
