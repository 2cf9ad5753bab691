import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ServerConfig } from './common/config/server.config.js';
import type { Gateway } from './gateway.js';

const DEFAULT_DRAIN_DELAY_MS = 5000;
/** How often a drain looks whether the last request has ended. */
const LOOK_EVERY_MS = 100;

/**
 * The end of a gateway, in order: not ready, still accepting while the load balancer learns it, closed to newcomers,
 * running requests to their end, the rest cut. Being told twice ends it at once.
 */
export class Shutdown {
  readonly ended: Promise<number>;
  #end: (code: number) => void = () => undefined;
  #begun = false;

  constructor(
    private readonly gateway: Gateway,
    private readonly config: ServerConfig,
    private readonly log: Logger,
  ) {
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** Begins the drain; `code` is what the process will exit with. */
  begin(reason: string, code = 0): void {
    if (this.#begun) {
      this.log.warn({ reason }, 'told again: ending at once');
      void this.gateway.close().finally(() => this.#end(code));
      return;
    }
    this.#begun = true;
    this.log.info({ reason }, 'draining');
    void this.#drain().finally(() => this.#end(code));
  }

  async #drain(): Promise<void> {
    const { gateway, config } = this;
    const deadline = performance.now() + config.drainTimeoutMs;
    gateway.readiness.begin();
    gateway.door.announceClosing();
    gateway.slots.drain();
    await pause(config.drainDelayMs ?? DEFAULT_DRAIN_DELAY_MS);
    gateway.server.stopAccepting();
    while (gateway.server.running > 0 && performance.now() < deadline) {
      gateway.server.closeIdle();
      await pause(LOOK_EVERY_MS);
    }
    gateway.sockets.drain();
    await gateway.close();
  }
}
