import type { Timer } from '../../common/clock.js';
import type { EngineCall } from '../../common/canonical/engine-call.js';
import type { EngineHeaders } from '../../common/rendering.js';
import { ClientGone } from './client-gone.js';
import type { EngineClient, EngineController, EngineHandler, Target } from './engine-client.js';
import type { Exchange } from './exchange.js';

/** Who asks beside the queue is answered quickly or not at all. */
const PATIENCE_MS = 10_000;
/** A tokenizer sends every token of the prompt along with their number. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** Who asks, as far as the question has to know: the answer is of no use to a client that has left. */
export type Asker = Pick<Exchange, 'gone' | 'clock' | 'onLeave'>;

/** A complete answer, whatever its status. */
export interface QueryAnswer {
  readonly status: number;
  readonly headers: EngineHeaders;
  readonly body: Buffer;
}

/** Asks an engine something that costs it next to nothing, and so needs no slot. */
export class EngineQuery {
  constructor(private readonly engines: EngineClient) {}

  /** undefined: there is no answer that could be used, for whatever reason. Rejects with ClientGone only. */
  ask(target: Target, call: EngineCall, asker: Asker): Promise<QueryAnswer | undefined> {
    return new Promise((resolve, reject) => {
      if (asker.gone) return reject(new ClientGone());
      this.engines.dispatch(target, call, new Question(target, asker, resolve, reject));
    });
  }
}

class Question implements EngineHandler {
  #controller: EngineController | undefined;
  #settled = false;
  #status = 0;
  #headers: EngineHeaders = {};
  #bytes = 0;
  readonly #body: Buffer[] = [];
  readonly #timer: Timer;

  constructor(
    { timeouts }: Target,
    private readonly asker: Asker,
    private readonly resolve: (answer: QueryAnswer | undefined) => void,
    private readonly reject: (reason: Error) => void,
  ) {
    this.#timer = asker.clock.after(Math.min(timeouts.readMs, PATIENCE_MS), () => this.#giveUp());
    asker.onLeave(() => this.#giveUp(new ClientGone()));
  }

  onRequestStart(controller: EngineController): void {
    this.#controller = controller;
    if (this.#settled) controller.abort(new Error('the question is settled'));
  }

  onResponseStart(_controller: EngineController, status: number, headers: EngineHeaders): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_controller: EngineController, chunk: Buffer): void {
    this.#body.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_ANSWER_BYTES) this.#giveUp();
  }

  onResponseEnd(): void {
    if (!this.#settle()) return;
    this.resolve({ status: this.#status, headers: this.#headers, body: Buffer.concat(this.#body) });
  }

  onResponseError(): void {
    if (this.#settle()) this.resolve(undefined);
  }

  #giveUp(reason?: Error): void {
    if (!this.#settle()) return;
    if (reason === undefined) this.resolve(undefined);
    else this.reject(reason);
    this.#controller?.abort(reason ?? new Error('the answer took too long, or was too large'));
  }

  /** false: it has been settled before. */
  #settle(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    this.#timer.cancel();
    this.asker.onLeave(undefined);
    return true;
  }
}
