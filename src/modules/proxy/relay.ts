import type { ServerResponse } from 'node:http';
import type { Timer } from '../../common/clock.js';
import type { EngineCall } from '../../common/canonical/engine-call.js';
import type { TimeoutsConfig } from '../../common/config/timeouts.config.js';
import { GatewayProblem, problemFrom } from '../../common/problem/gateway-problem.js';
import type { EngineHeaders, Rendering, WholeResponse } from '../../common/rendering.js';
import { afterReading } from './after-reading.js';
import { Backpressure } from './backpressure.js';
import { charge } from './charge.js';
import { ChunkWriter, isFollowed } from './chunk-writer.js';
import { ClientGone } from './client-gone.js';
import { BodyParts } from './core/body-parts.js';
import { outcomeOf, tooLong, upstreamFailure } from './core/upstream-problem.js';
import type { Slot } from '../admission/slot.js';
import type { EngineClient, EngineController, EngineHandler, Target } from './engine-client.js';
import type { Exchange } from './exchange.js';

/** More informational responses (1xx) than this before the answer are an attack on patience. */
const MAX_INFORMATIONAL = 10;

/** Where a call goes, and how long each step of it may take. */
export type Destination = Pick<Target, 'upstream' | 'timeouts'>;

/** What the call is made of, who gets its answer, and who is told how it ended. */
interface Crossing {
  readonly slot: Slot;
  readonly to: Destination;
  readonly call: EngineCall;
  readonly exchange: Exchange;
  readonly rendering: Rendering;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Nothing has reached the engine, so that the request may go to another one. */
type OnRefused = (crossing: Crossing, problem: GatewayProblem) => void;

/** Sends a call to an upstream and its answer to the client, piece by piece, with backpressure. */
export class Relay {
  constructor(private readonly engines: EngineClient) {}

  /**
   * Settles when the engine's side is over and all that the client will get has been handed to its socket. An endpoint
   * that refuses the connection is passed over while the upstream has another one. Rejects with a GatewayProblem that
   * has not been told to the client yet, or with ClientGone.
   */
  send(slot: Slot, to: Destination, call: EngineCall, exchange: Exchange, rendering: Rendering): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#start({ slot, to, call, exchange, rendering, resolve, reject });
    });
  }

  #start(crossing: Crossing): void {
    crossing.exchange.admitted(crossing.slot.waitedMs);
    new Passage(this.engines, crossing, this.#refused).start();
  }

  readonly #refused: OnRefused = (crossing, problem) => {
    this.#moveOn(crossing, problem).catch(crossing.reject);
  };

  async #moveOn(crossing: Crossing, problem: GatewayProblem): Promise<void> {
    const { slot, exchange } = crossing;
    exchange.record.asksForPlace(exchange.clock.now());
    if (await slot.moveOn(exchange)) this.#start(crossing);
    else {
      // There is no other one: it has waited for nothing.
      exchange.record.phase = 'waiting';
      crossing.reject(problem);
    }
  }
}

/** One call on its way. undici calls it; every path ends in `#settle`, once. */
class Passage implements EngineHandler {
  #controller: EngineController | undefined;
  #mode: 'none' | 'stream' | 'whole' = 'none';
  #held: BodyParts | undefined;
  #heldBytes = 0;
  #wrote = false;
  #settled = false;
  #answered = false;
  #informational = 0;
  #backpressure: Backpressure | undefined;
  #life: Timer | undefined;
  readonly #response: ServerResponse;
  readonly #writer: ChunkWriter;

  private readonly exchange: Exchange;
  private readonly rendering: Rendering;

  constructor(
    private readonly engines: EngineClient,
    private readonly crossing: Crossing,
    private readonly onRefused: OnRefused,
  ) {
    const { exchange, rendering } = crossing;
    this.exchange = exchange;
    this.rendering = rendering;
    this.#response = exchange.response;
    this.#writer = new ChunkWriter(exchange.response);
  }

  private get timeouts(): TimeoutsConfig {
    return this.crossing.to.timeouts;
  }

  start(): void {
    const { slot, to, call, exchange } = this.crossing;
    if (exchange.gone) return this.crossing.reject(new ClientGone());
    const { endpoint } = slot;
    const { totalMs } = to.timeouts;
    exchange.record.sentTo(endpoint?.id, exchange.clock.now());
    exchange.onLeave(() => this.#clientLeft());
    if (totalMs !== undefined) this.#life = exchange.clock.after(totalMs, () => this.#tooLong());
    this.engines.dispatch({ ...to, endpoint }, call, this);
  }

  onRequestStart(controller: EngineController): void {
    this.#controller = controller;
    if (this.#settled) controller.abort(new ClientGone());
  }

  onResponseStart(controller: EngineController, status: number, headers: EngineHeaders): void {
    if (this.#settled) return;
    if (status < 200) {
      this.#informational += 1;
      if (this.#informational > MAX_INFORMATIONAL) this.#refuse(controller, new Error('endless informational heads'));
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
    if (this.#mode === 'whole') afterReading(() => this.#end());
    else this.#end();
  }

  #end(): void {
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
    (this.#held ??= new BodyParts(0, false)).add(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes <= this.rendering.wholeLimitBytes) return;
    this.#mode = 'stream';
    const held = this.#heldBody();
    this.#openStream();
    this.#write(this.rendering.push(held), true);
  }

  #heldBody(): Buffer {
    const body = this.#held?.joined() ?? Buffer.alloc(0);
    this.#held = undefined;
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
    this.#backpressure ??= new Backpressure(this.#response, this.exchange.clock, this.timeouts.writeMs);
    this.#backpressure.hold(this.#controller);
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
    this.#response.end(rest.length > 0 ? rest : undefined);
  }

  #clientLeft(): void {
    if (this.#settled) return;
    this.exchange.record.upstreamOutcome = 'cancelled';
    this.#settle(new ClientGone());
    this.#controller?.abort(new ClientGone());
  }

  #tooLong(): void {
    if (this.#settled) return;
    const problem = tooLong(this.timeouts.totalMs ?? 0);
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
    if (failure.outcome === 'refused' && !this.#answered) {
      this.#close(problem);
      return this.onRefused(this.crossing, problem);
    }
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
    this.#close(error);
    if (error !== undefined) return this.crossing.reject(error);
    this.exchange.watchLastBytes(this.timeouts.writeMs);
    this.crossing.resolve();
  }

  /** The engine's side is over: nothing more is taken from it, and what it came to is charged. */
  #close(error: Error | undefined): void {
    this.#settled = true;
    const { exchange } = this;
    exchange.onLeave(undefined);
    this.#backpressure?.end();
    this.#life?.cancel();
    exchange.record.upstreamEndedAt = exchange.clock.now();
    const { usage } = this.rendering;
    if (usage !== undefined) {
      exchange.record.usage = usage;
      exchange.record.estimatedPromptTokens = this.crossing.slot.estimatedPromptTokens;
      this.crossing.slot.settle(usage);
    }
    charge(this.crossing.slot, this.rendering, exchange.record, { answered: this.#answered, error });
  }
}
