import type { ServerResponse } from 'node:http';
import type { Clock, Timer } from '../../common/clock.js';
import { drainOf } from './chunk-writer.js';
import type { EngineController } from './engine-client.js';

/** Holds an engine back while its client takes nothing, and cuts the client that does so for too long. Made when needed. */
export class Backpressure {
  #stall: Timer | undefined;
  #stopListening: (() => void) | undefined;

  constructor(
    private readonly response: ServerResponse,
    private readonly clock: Clock,
    private readonly limitMs: number,
  ) {}

  /** Until the client has taken what waits for it. */
  hold(engine: EngineController | undefined): void {
    if (this.#stall !== undefined) return;
    engine?.pause();
    const source = drainOf(this.response);
    const drained = (): void => {
      this.end();
      engine?.resume();
    };
    source.once('drain', drained);
    this.#stopListening = () => source.removeListener('drain', drained);
    this.#stall = this.clock.after(this.limitMs, () => this.response.destroy());
  }

  /** Nothing is held back any more. */
  end(): void {
    this.#stopListening?.();
    this.#stopListening = undefined;
    this.#stall?.cancel();
    this.#stall = undefined;
  }
}
