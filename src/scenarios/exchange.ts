import type { Clock, Timer } from '../common/clock.js';
import type { Lease, PoolListener, Refusal, Ticket } from '../modules/admission/core/pool-types.js';
import type { Endpoint } from './endpoint.js';
import type { Gateway } from './gateway.js';
import type { Job, Outcome } from './job.js';

/** What the engine has left to compute of a prompt that an answer beside it has had computed. */
const SHARED_PROMPT_TOKENS = 16;

/** Who wants to know what happens to requests. */
export interface ExchangeWatch {
  granted(job: Job, endpoint: string): void;
  released(job: Job, endpoint: string): void;
  ended(exchange: Exchange, outcome: Outcome): void;
}

export interface ExchangeTerms {
  /** Unique in its world. */
  readonly id: string;
  readonly job: Job;
  readonly gateway: Gateway;
  readonly estimateFactor: number;
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  readonly clock: Clock;
  readonly watch: ExchangeWatch;
}

/** One request from its arrival to its end, as the gateway takes it through. */
export class Exchange implements PoolListener {
  readonly arrivedAt: number;
  private firstAt: number | undefined;
  private grantedAt: number | undefined;
  private lease: Lease | undefined;
  private ticket: Ticket | undefined;
  private patience: Timer | undefined;
  private over = false;
  private left = false;

  constructor(private readonly terms: ExchangeTerms) {
    this.arrivedAt = terms.clock.now();
  }

  get job(): Job {
    return this.terms.job;
  }

  get waits(): boolean {
    return this.lease === undefined && !this.over;
  }

  start(): void {
    const { job, gateway, clock } = this.terms;
    if (job.patienceMs !== undefined) this.patience = clock.after(job.patienceMs, () => this.leave());
    this.keep(gateway.gate.enqueue(gateway.requestOf(job, this.terms.estimateFactor), this));
  }

  granted(lease: Lease): void {
    const { job, clock, watch } = this.terms;
    this.lease = lease;
    this.grantedAt = clock.now();
    watch.granted(job, lease.endpoint);
    if (!this.dispatch(lease)) this.onRefusedConnection(lease);
  }

  refused(refusal: Refusal, retryAfterSeconds: number): void {
    this.end('refused', refusal, retryAfterSeconds * 1_000);
  }

  private keep(ticket: Ticket | undefined): void {
    if (this.waits) this.ticket = ticket;
  }

  private dispatch(lease: Lease): boolean {
    const { id, job, endpoints, clock } = this.terms;
    const { promptTokens, outputTokens, choices = 1 } = job;
    let open = choices;
    const sink = {
      first: (): void => {
        this.firstAt = clock.now();
        this.patience?.cancel();
        lease.firstToken();
      },
      tokens: (): void => undefined,
      ended: (how: 'finished' | 'aborted' | 'lost'): void => {
        open -= 1;
        if (open === 0) this.onStreamEnd(lease, how);
      },
    };
    const engine = endpoints.get(lease.endpoint);
    if (engine?.submit({ id, promptTokens, outputTokens }, sink) !== true) return false;
    // The answers beside the first share its prompt.
    const beside = { tokens: sink.tokens, ended: sink.ended };
    for (const sibling of this.siblings())
      engine.submit({ id: sibling, promptTokens: SHARED_PROMPT_TOKENS, outputTokens }, beside);
    return true;
  }

  private siblings(): readonly string[] {
    const { id, job } = this.terms;
    return Array.from({ length: (job.choices ?? 1) - 1 }, (_, index) => `${id}.${index + 2}`);
  }

  private onStreamEnd(lease: Lease, how: 'finished' | 'aborted' | 'lost'): void {
    const { job, gateway } = this.terms;
    if (how === 'finished') {
      gateway.learn(job);
      lease.settle(job.promptTokens, job.outputTokens);
    }
    this.giveBack(lease);
    this.end(how === 'finished' ? 'served' : this.left ? 'left' : 'failed');
  }

  private onRefusedConnection(lease: Lease): void {
    this.noteReleased(lease);
    const ticket = lease.refused(this);
    if (ticket === undefined) this.end('failed');
    else this.keep(ticket);
  }

  private giveBack(lease: Lease): void {
    this.noteReleased(lease);
    lease.release();
  }

  /** Before the release: what it makes room for is granted before it returns. */
  private noteReleased(lease: Lease): void {
    this.lease = undefined;
    this.terms.watch.released(this.job, lease.endpoint);
  }

  /** The client hangs up. Its place stays taken until the engine has let go of it. */
  private leave(): void {
    this.left = true;
    if (this.lease !== undefined) {
      const engine = this.terms.endpoints.get(this.lease.endpoint);
      for (const id of [this.terms.id, ...this.siblings()]) engine?.abort(id);
      return;
    }
    this.ticket?.cancel();
    this.end('left');
  }

  private end(how: Outcome['how'], refusal?: Refusal, retryAfterMs?: number): void {
    if (this.over) throw new Error(`request ${this.terms.id} ended twice`);
    this.over = true;
    this.patience?.cancel();
    const { job, clock, watch } = this.terms;
    const { arrivedAt, firstAt, grantedAt } = this;
    const queuedMs = grantedAt === undefined ? undefined : grantedAt - arrivedAt;
    watch.ended(this, { job, arrivedAt, firstAt, endedAt: clock.now(), how, refusal, retryAfterMs, queuedMs });
  }
}
