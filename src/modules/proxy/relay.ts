import type { ServerResponse } from 'node:http';
import type { Timer } from '../../common/clock.js';
import type { EngineCall } from '../../common/canonical/engine-call.js';
import type { TimeoutsConfig } from '../../common/config/timeouts.config.js';
import { GatewayProblem, problemFrom } from '../../common/problem/gateway-problem.js';
import type { EngineHeaders, Rendering, WholeResponse } from '../../common/rendering.js';
import { charge } from './charge.js';
import { ChunkWriter, drainOf, isFollowed } from './chunk-writer.js';
import { ClientGone } from './client-gone.js';
import { outcomeOf, upstreamFailure } from './core/upstream-problem.js';
import type { Slot } from '../admission/slot.js';
import type { EngineClient, EngineController, EngineHandler, Target } from './engine-client.js';
import type { Exchange } from './exchange.js';

/** More informational responses (1xx) than this before the answer are an attack on patience. */
const MAX_INFORMATIONAL = 10;

/** Where a call goes, and how long each step of it may take. */
export type Destination = Pick<Target, 'upstream' | 'timeouts'>;

/** What the call is made of, and who gets its answer. */
interface Crossing {
  readonly slot: Slot;
  readonly target: Target;
  readonly call: EngineCall;
  readonly exchange: Exchange;
  readonly rendering: Rendering;
}

/** Nothing has reached the engine: the request may go to another one. */
class NotConnected extends Error {
  constructor(readonly problem: GatewayProblem) {
    super('the engine refused the connection');
  }
}

/** Sends a call to an upstream and its answer to the client, piece by piece, with backpressure. */
export class Relay {
  constructor(private readonly engines: EngineClient) {}

  /**
   * Settles when the engine's side is over and all that the client will get has been handed to its socket. An endpoint
   * that refuses the connection is passed over while the upstream has another one. Rejects with a GatewayProblem that
   * has not been told to the client yet, or with ClientGone.
   */
  async send(slot: Slot, to: Destination, call: EngineCall, exchange: Exchange, rendering: Rendering): Promise<void> {
    for (;;) {
      try {
        const crossing = { slot, target: { ...to, endpoint: slot.endpoint }, call, exchange, rendering };
        await new Promise<void>((resolve, reject) => new Passage(this.engines, crossing, resolve, reject).start());
        return;
      } catch (error) {
        if (!(error instanceof NotConnected)) throw error;
        exchange.record.phase = 'queued';
        exchange.record.queuedAt = exchange.clock.now();
        if (await slot.moveOn(exchange)) continue;
        // There is no other one: it has waited for nothing.
        exchange.record.phase = 'waiting';
        throw error.problem;
      }
    }
  }
}

/** One call on its way. undici calls it; every path ends in `#settle`, once. */
class Passage implements EngineHandler {
  #controller: EngineController | undefined;
  #mode: 'none' | 'stream' | 'whole' = 'none';
  #held: Buffer[] = [];
  #heldBytes = 0;
  #wrote = false;
  #settled = false;
  #answered = false;
  #informational = 0;
  #stall: Timer | undefined;
  #life: Timer | undefined;
  readonly #response: ServerResponse;
  readonly #writer: ChunkWriter;
  readonly #drained = (): void => this.#resume();

  private readonly exchange: Exchange;
  private readonly rendering: Rendering;

  constructor(
    private readonly engines: EngineClient,
    private readonly crossing: Crossing,
    private readonly resolve: () => void,
    private readonly reject: (error: Error) => void,
  ) {
    this.exchange = crossing.exchange;
    this.rendering = crossing.rendering;
    this.#response = this.exchange.response;
    this.#writer = new ChunkWriter(this.#response);
  }

  private get timeouts(): TimeoutsConfig {
    return this.crossing.target.timeouts;
  }

  start(): void {
    const { exchange } = this;
    if (exchange.gone) return this.reject(new ClientGone());
    exchange.record.sentTo(this.crossing.slot.endpoint?.id, exchange.clock.now());
    exchange.onLeave(() => this.#clientLeft());
    const { totalMs } = this.timeouts;
    if (totalMs !== undefined) this.#life = exchange.clock.after(totalMs, () => this.#tooLong());
    this.engines.dispatch(this.crossing.target, this.crossing.call, this);
  }

  onRequestStart(controller: EngineController): void {
    this.#controller = controller;
    if (this.#settled) controller.abort(new ClientGone());
  }

  onResponseStart(controller: EngineController, status: number, headers: EngineHeaders): void {
    if (this.#settled) return;
    if (status < 200) {
      this.#informational += 1;
      if (this.#informational > MAX_INFORMATIONAL)
        this.#refuse(controller, new Error('endless informational responses'));
      return;
    }
    this.#answered = true;
    this.exchange.record.upstreamStatus = status;
    this.exchange.record.upstreamOutcome = outcomeOf(status);
    try {
      this.#mode = this.rendering.begin(status, headers);
      if (this.#mode === 'stream') this.#openStream();
    } catch (error) {
      this.#refuse(controller, problemFrom(error));
    }
  }

  onResponseData(controller: EngineController, chunk: Buffer): void {
    if (this.#settled) return;
    try {
      if (this.#mode === 'whole') this.#hold(chunk);
      else this.#write(this.rendering.push(chunk), isFollowed(chunk));
    } catch (error) {
      this.#refuse(controller, problemFrom(error));
    }
  }

  onResponseEnd(): void {
    if (this.#settled) return;
    try {
      if (this.#mode === 'whole') this.#endWhole(this.rendering.whole(this.#heldBody()));
      else this.#endStream();
      this.#settle();
    } catch (error) {
      this.#fail(problemFrom(error));
    }
  }

  onResponseError(_controller: EngineController, error: Error): void {
    if (!this.#settled) this.#fail(error);
  }

  #openStream(): void {
    const { exchange } = this;
    exchange.record.phase = 'streaming';
    if (!exchange.started) exchange.writeHead(this.rendering.head());
    // A first event in the same packet leaves in one write with the head; without one the head leaves on its own.
    process.nextTick(() => {
      if (!this.#wrote && !this.#response.writableEnded && !this.#response.destroyed) this.#response.flushHeaders();
    });
  }

  #hold(chunk: Buffer): void {
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes <= this.rendering.wholeLimitBytes) return;
    this.#mode = 'stream';
    const held = this.#heldBody();
    this.#openStream();
    this.#write(this.rendering.push(held), true);
  }

  #heldBody(): Buffer {
    const [first] = this.#held;
    const body = this.#held.length === 1 && first !== undefined ? first : Buffer.concat(this.#held);
    this.#held = [];
    return body;
  }

  #write(bytes: Uint8Array, more: boolean): void {
    if (bytes.length === 0) return;
    const { record } = this.exchange;
    this.#wrote = true;
    record.responseBytes += bytes.length;
    if (record.firstContentAt === undefined && this.rendering.contentSeen) {
      record.firstContentAt = this.exchange.clock.now();
      this.crossing.slot.firstToken();
    }
    if (!this.#writer.write(bytes, more)) this.#pause();
  }

  #pause(): void {
    if (this.#stall !== undefined) return;
    this.#controller?.pause();
    drainOf(this.#response).once('drain', this.#drained);
    this.#stall = this.exchange.clock.after(this.timeouts.writeMs, () => this.#response.destroy());
  }

  #resume(): void {
    this.#stall?.cancel();
    this.#stall = undefined;
    this.#controller?.resume();
  }

  #endWhole(whole: WholeResponse): void {
    // Behind a heartbeat's head the rendering has put the answer, or the error in it, into the stream's form.
    if (!this.exchange.started) this.exchange.sendWhole(whole);
    else if (this.rendering.failed) this.exchange.endFailed(whole.body);
    else this.#response.end(whole.body);
  }

  #endStream(): void {
    const rest = this.rendering.end();
    if (rest instanceof GatewayProblem) throw rest;
    if (this.rendering.failed) {
      this.exchange.record.problem = 'upstream-failed';
      this.exchange.record.upstreamOutcome = 'server_error';
      this.exchange.endFailed(rest);
      return;
    }
    this.exchange.record.responseBytes += rest.length;
    if (rest.length > 0) this.#response.end(rest);
    else this.#response.end();
  }

  #clientLeft(): void {
    if (this.#settled) return;
    this.exchange.record.upstreamOutcome = 'cancelled';
    this.#settle(new ClientGone());
    this.#controller?.abort(new ClientGone());
  }

  #tooLong(): void {
    if (this.#settled) return;
    const detail = `The answer took longer than the ${(this.timeouts.totalMs ?? 0) / 1000} s that this route allows (timeout).`;
    const problem = new GatewayProblem('upstream-timeout', { detail });
    this.#fail(problem);
    this.#controller?.abort(problem);
  }

  /** The answer is of no use: the client is told, and the engine's socket closed. */
  #refuse(controller: EngineController, error: unknown): void {
    if (!this.#settled) this.#fail(error);
    controller.abort(new Error('the answer was refused'));
  }

  #fail(error: unknown): void {
    const { record } = this.exchange;
    const failure = upstreamFailure(error, this.#answered);
    const problem = failure.problem;
    if (!(error instanceof GatewayProblem) || record.upstreamOutcome === undefined)
      record.upstreamOutcome = failure.outcome;
    if (failure.outcome === 'refused' && !this.#answered) return this.#settle(new NotConnected(problem));
    if (!this.exchange.started) return this.#settle(problem);
    const last = this.rendering.failure(problem);
    // An answer that had said its last word before the engine broke off is complete.
    if (last !== undefined && !this.rendering.failed) this.#response.end(last);
    else {
      record.problem = problem.code;
      record.cause = problem.options.cause;
      this.exchange.endFailed(last);
    }
    this.#settle();
  }

  #settle(error?: Error): void {
    this.#settled = true;
    const { exchange } = this;
    exchange.onLeave(undefined);
    drainOf(this.#response).removeListener('drain', this.#drained);
    this.#stall?.cancel();
    this.#life?.cancel();
    exchange.record.upstreamEndedAt = exchange.clock.now();
    const { usage } = this.rendering;
    if (usage !== undefined) {
      exchange.record.usage = usage;
      exchange.record.estimatedPromptTokens = this.crossing.slot.estimatedPromptTokens;
      this.crossing.slot.settle(usage);
    }
    charge(this.crossing.slot, this.rendering, exchange.record, { answered: this.#answered, error });
    if (error !== undefined) return this.reject(error);
    exchange.watchLastBytes(this.timeouts.writeMs);
    this.resolve();
  }
}
