import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ServerConfig } from './common/config/server.config.js';
import { GatewayProblem } from './common/problem/gateway-problem.js';
import type { Gateway } from './http-server.js';

export const DEFAULT_DRAIN_DELAY_MS = 5000;
/** How often a drain looks whether the last request has ended. */
const LOOK_EVERY_MS = 100;
/** How long those that the drain's limit has ended may take to hear of it. */
const LAST_WORDS_MS = 1000;

/**
 * The end of a gateway, in order: not ready, still accepting while the load balancer learns it, closed to newcomers,
 * running requests to their end, the rest told and cut. Being told twice ends it at once.
 */
export class Shutdown {
  readonly ended: Promise<number>;
  #end: (code: number) => void = () => undefined;
  #begun = false;
  #code = 0;

  constructor(
    private readonly gateway: Gateway,
    private readonly config: ServerConfig,
    private readonly log: Logger,
  ) {
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** Begins the drain; `code` is what the process will exit with, unless something worse comes to pass meanwhile. */
  begin(reason: string, code = 0): void {
    this.#code = Math.max(this.#code, code);
    const ending = this.#begun ? this.#atOnce(reason) : this.#drain(reason);
    this.#begun = true;
    void ending.finally(() => this.#end(this.#code));
  }

  #atOnce(reason: string): Promise<void> {
    this.log.warn({ reason }, 'told again: ending at once');
    return this.gateway.close();
  }

  async #drain(reason: string): Promise<void> {
    const { gateway, config } = this;
    this.log.info({ reason, running: gateway.server.running }, 'draining');
    const deadline = performance.now() + config.drainTimeoutMs;
    gateway.readiness.begin();
    gateway.door.announceClosing();
    gateway.slots.drain();
    await unheld(config.drainDelayMs ?? DEFAULT_DRAIN_DELAY_MS);
    gateway.server.stopAccepting();
    await this.#emptied(deadline);
    if (gateway.server.connections > 0) await this.#endTheRest();
    await gateway.close();
  }

  async #endTheRest(): Promise<void> {
    const { gateway } = this;
    this.log.warn({ running: gateway.server.running }, 'the drain has reached its limit: ending the rest');
    gateway.sockets.drain();
    // First those that wait, or they would get the places of those that are ended.
    gateway.slots.endDrain();
    void gateway.engines.end(drainLimitProblem());
    await this.#emptied(performance.now() + LAST_WORDS_MS);
  }

  /** Settles when nobody is connected any more, or the time has come. */
  async #emptied(deadline: number): Promise<void> {
    const { server } = this.gateway;
    server.closeIdle();
    while (server.connections > 0 && performance.now() < deadline) {
      await unheld(LOOK_EVERY_MS);
      server.closeIdle();
    }
  }
}

/** A pause that a process does not live for: the listeners hold it, until they are closed. */
const unheld = (delayMs: number): Promise<void> => pause(delayMs, undefined, { ref: false });

const drainLimitProblem = (): GatewayProblem =>
  new GatewayProblem('draining', {
    detail: 'This gateway is shutting down and cannot wait any longer: overloaded until another one takes over.',
    retryAfterSeconds: 1,
  });
