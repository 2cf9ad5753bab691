import type { Clock, Timer } from '../../../common/clock.js';
import type { ProblemCode } from '../../../common/problem/problems.js';
import type { RequestRecord, UpstreamOutcome } from '../../../common/request-record.js';
import { CLOSE, farewellFrom, type Ending, type Party } from './websocket-close.js';
import { Heartbeat } from './websocket-heartbeat.js';
import type { SideListener, SocketSide } from './websocket-side.js';

/** Of the longest silence of an upstream: it is asked at the half, and given up at the end. */
const UPSTREAM_BEATS = 4;

/** How long a tunnel lasts, in every sense. */
export interface TunnelPolicy {
  readonly readMs: number;
  readonly totalMs: number | undefined;
  readonly pingMs: number;
  readonly missedPongs: number;
}

/**
 * Messages both ways between a client and an upstream, until both sockets are closed. Pings end here: each side is
 * answered by the gateway, and asked by it.
 */
export class Tunnel {
  /** Settles when both sockets are closed. Never rejects. */
  readonly over: Promise<void>;
  #settle: () => void = () => undefined;
  readonly #clientBeat: Heartbeat;
  readonly #upstreamBeat: Heartbeat;
  #life: Timer | undefined;
  #open = 2;
  #ending = false;

  constructor(
    private readonly client: SocketSide,
    private readonly upstream: SocketSide,
    private readonly policy: TunnelPolicy,
    private readonly record: RequestRecord,
    private readonly clock: Clock,
  ) {
    this.over = new Promise((resolve) => {
      this.#settle = resolve;
    });
    const pings = { everyMs: policy.pingMs, askAfter: 0, missed: policy.missedPongs };
    const silence = {
      everyMs: policy.readMs / UPSTREAM_BEATS,
      askAfter: UPSTREAM_BEATS / 2,
      missed: UPSTREAM_BEATS / 2,
    };
    this.#clientBeat = new Heartbeat(clock, pings, client, () => this.#clientSilent());
    this.#upstreamBeat = new Heartbeat(clock, silence, upstream, () => this.#upstreamSilent());
  }

  start(): void {
    const { totalMs } = this.policy;
    if (totalMs !== undefined)
      this.#life = this.clock.after(totalMs, () => this.close(CLOSE.goingAway, 'open for too long'));
    this.#clientBeat.start();
    this.#upstreamBeat.start();
    this.client.open(this.#fromClient());
    this.upstream.open(this.#fromUpstream());
  }

  /** Closes both sides with this code. */
  close(code: number, reason: string): void {
    this.#note('ok');
    this.client.cut(code, reason);
    this.upstream.cut(code, reason);
  }

  #fromClient(): SideListener {
    const { client, upstream, record } = this;
    return {
      message: (data, isBinary) => {
        record.requestBytes += data.length;
        upstream.send(data, isBinary);
        if (upstream.full) client.hold();
      },
      relieved: () => upstream.release(),
      stalled: () => this.#clientStalled(),
      ended: (ending) => this.#ended('client', ending),
      closed: () => this.#closed(),
    };
  }

  #fromUpstream(): SideListener {
    const { client, upstream, record } = this;
    return {
      message: (data, isBinary) => {
        record.firstContentAt ??= this.clock.now();
        record.responseBytes += data.length;
        client.send(data, isBinary);
        if (client.full) upstream.hold();
      },
      relieved: () => client.release(),
      stalled: () => this.#upstreamStalled(),
      ended: (ending) => this.#ended('upstream', ending),
      closed: () => {
        record.upstreamEndedAt = this.clock.now();
        this.#closed();
      },
    };
  }

  #ended(party: Party, ending: Ending): void {
    if (party === 'client') this.#noteClientEnd(ending);
    else this.#noteUpstreamEnd(ending);
    const other = party === 'client' ? this.upstream : this.client;
    const { code, reason, orderly } = farewellFrom(party, ending);
    if (orderly) other.end(code, reason);
    else other.cut(code, reason);
  }

  #clientSilent(): void {
    this.#note('cancelled');
    this.record.clientGone = true;
    this.client.cut(CLOSE.internal, 'no answer to pings');
    this.upstream.cut(CLOSE.goingAway, 'the client does not answer');
  }

  #clientStalled(): void {
    this.#note('cancelled');
    this.record.clientGone = true;
    this.client.destroy();
    this.upstream.cut(CLOSE.goingAway, 'the client does not read');
  }

  #upstreamSilent(): void {
    this.#note('timeout', 'upstream-timeout');
    this.client.cut(CLOSE.badGateway, 'the upstream does not answer');
    this.upstream.cut(CLOSE.goingAway, 'no answer to pings');
  }

  #upstreamStalled(): void {
    this.#note('timeout', 'upstream-timeout');
    this.client.cut(CLOSE.badGateway, 'the upstream does not read');
    this.upstream.destroy();
  }

  #noteClientEnd({ code, faultCode }: Ending): void {
    if (faultCode !== undefined) return this.#noteClientFault(faultCode);
    const gone = code === CLOSE.vanished;
    if (gone && !this.#ending) this.record.clientGone = true;
    this.#note(gone ? 'cancelled' : 'ok');
  }

  #noteClientFault(faultCode: number): void {
    if (!this.#ending) this.record.cause = `closed with ${faultCode}`;
    this.#note('ok', 'invalid-request');
  }

  #noteUpstreamEnd({ code, faultCode }: Ending): void {
    if (faultCode !== undefined) this.#note('server_error', 'upstream-invalid');
    else if (code === CLOSE.vanished) this.#note('reset', 'upstream-failed');
    else this.#note(code === CLOSE.internal ? 'server_error' : 'ok');
  }

  /** The first reason for the end is the one that counts. */
  #note(outcome: UpstreamOutcome, problem?: ProblemCode): void {
    if (this.#ending) return;
    this.#ending = true;
    this.record.upstreamOutcome = outcome;
    this.record.problem = problem;
  }

  #closed(): void {
    this.#open -= 1;
    if (this.#open > 0) return;
    this.#life?.cancel();
    this.#clientBeat.stop();
    this.#upstreamBeat.stop();
    this.record.phase = 'done';
    this.#settle();
  }
}
