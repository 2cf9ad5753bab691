import { NO_COUNTS, type EngineEvent, type EngineGauges } from './engine-gauges.js';
import { Histogram } from './histogram.js';
import { emptyHolding, KvCache } from './kv-cache.js';
import type { EngineProfile } from './profiles.js';
import { costMs, newSequence, nextTokens, tokensDue, type EngineRequest, type Sequence } from './sequence.js';

/**
 * The scheduler of an inference engine, without a clock: `beginStep` says how long the next step takes, `endStep` what
 * came out of it, and whoever drives it lets that time pass in between.
 */
export class EngineCore {
  /** Tokens computed in each step. */
  readonly stepTokens = new Histogram([1, 8, 64, 512, 1_024, 2_048, 8_192]);
  /** Seconds from admission to the first token, of requests that have ended well. */
  readonly prefillSeconds = new Histogram([0.3, 1, 5, 15, 60, 240]);
  private readonly kv: KvCache;
  private running: Sequence[] = [];
  private waiting: Sequence[] = [];
  private readonly aborts = new Set<string>();
  private readonly events: EngineEvent[] = [];
  private counts = { ...NO_COUNTS };
  /** Length of the step that runs, in ms; undefined at a boundary. */
  private stepMs: number | undefined;

  constructor(readonly profile: EngineProfile) {
    this.kv = new KvCache(profile.blocks);
  }

  /** Queues a request. Throws a RangeError for one that no engine of this profile could ever finish. */
  submit(request: EngineRequest): void {
    const { promptTokens, outputTokens } = request;
    if (!(promptTokens >= 1 && outputTokens >= 1)) throw new RangeError('a request has at least one token each way');
    if (this.blocksFor(promptTokens + outputTokens) > this.profile.blocks) {
      throw new RangeError(`${promptTokens + outputTokens} tokens do not fit the KV memory`);
    }
    this.counts.submitted += 1;
    this.waiting.push(newSequence(request));
  }

  /** Ends a request at the next step boundary. An id that is not here is ignored. */
  abort(id: string): void {
    const isIt = ({ request }: Sequence): boolean => request.id === id;
    if (this.running.some(isIt) || this.waiting.some(isIt)) this.aborts.add(id);
  }

  /** Plans the next step and returns how long it takes, in ms; undefined: there is nothing to do. */
  beginStep(): number | undefined {
    this.applyAborts();
    const budget = { left: this.profile.stepTokens };
    if (!this.scheduleRunning(budget)) this.admitWaiting(budget);
    this.counts.peakRunning = Math.max(this.counts.peakRunning, this.running.length);
    if (this.running.length === 0) return undefined;
    this.stepTokens.observe(this.profile.stepTokens - budget.left);
    this.stepMs = this.running.reduce((ms, sequence) => ms + costMs(this.profile, sequence), this.profile.stepBaseMs);
    return this.stepMs;
  }

  /** Ends the step and hands over what came out of it. */
  endStep(): readonly EngineEvent[] {
    if (this.stepMs !== undefined) this.advanceAll(this.stepMs);
    this.stepMs = undefined;
    return this.takeEvents();
  }

  /** Hands over what happened since the last call: after `beginStep`, the aborts that took effect. */
  takeEvents(): readonly EngineEvent[] {
    return this.events.splice(0);
  }

  /** The process dies: every request is lost, memory and counters start anew. */
  crash(): readonly EngineEvent[] {
    const held = [...this.running, ...this.waiting];
    for (const sequence of held) this.kv.release(sequence.holding);
    this.running = [];
    this.waiting = [];
    this.aborts.clear();
    this.stepMs = undefined;
    this.counts = { ...NO_COUNTS };
    this.stepTokens.reset();
    this.prefillSeconds.reset();
    const lost = held.map(({ request }): EngineEvent => ({ kind: 'lost', id: request.id }));
    return [...this.takeEvents(), ...lost];
  }

  gauges(): EngineGauges {
    return {
      ...this.counts,
      running: this.running.length,
      waiting: this.waiting.length,
      waitingTokens: this.waiting.reduce((tokens, { request }) => tokens + request.promptTokens, 0),
      usedBlocks: this.kv.usedBlocks,
      kvUsage: this.kv.usedBlocks / this.profile.blocks,
    };
  }

  private applyAborts(): void {
    if (this.aborts.size === 0) return;
    const stays = (sequence: Sequence): boolean => {
      if (!this.aborts.has(sequence.request.id)) return true;
      this.kv.release(sequence.holding);
      this.counts.aborted += 1;
      this.events.push({ kind: 'aborted', id: sequence.request.id });
      return false;
    };
    this.running = this.running.filter(stays);
    this.waiting = this.waiting.filter(stays);
    this.aborts.clear();
  }

  /** Gives the running ones their tokens, in order. Returns whether one had to make room. */
  private scheduleRunning(budget: { left: number }): boolean {
    let preempted = false;
    for (let at = 0; at < this.running.length; at += 1) {
      const sequence = this.running[at];
      if (sequence === undefined) break;
      const tokens = nextTokens(this.profile, sequence, budget.left);
      while (this.running.includes(sequence) && !this.grow(sequence, tokens)) {
        this.preemptLast();
        preempted = true;
      }
      if (!this.running.includes(sequence)) break;
      sequence.scheduled = tokens;
      budget.left -= tokens;
    }
    return preempted;
  }

  private admitWaiting(budget: { left: number }): void {
    while (budget.left > 0 && this.running.length < this.profile.slots) {
      const head = this.waiting[0];
      if (head === undefined || !this.admit(head, budget)) return;
      this.waiting.shift();
      this.running.push(head);
    }
  }

  /** Takes the cached prefix and the blocks of the first chunk; false where the memory has no room. */
  private admit(sequence: Sequence, budget: { left: number }): boolean {
    const { promptTokens, prefixKeys = [] } = sequence.request;
    const { blockTokens } = this.profile;
    // The last token is always computed: without it there is nothing to sample the next one from.
    const usable = prefixKeys.slice(0, Math.floor((promptTokens - 1) / blockTokens));
    const shared = usable.slice(0, this.kv.hits(usable));
    sequence.computed = shared.length * blockTokens;
    const tokens = nextTokens(this.profile, sequence, budget.left);
    const holding = this.kv.open(shared, this.blocksFor(sequence.computed + tokens));
    if (holding === undefined) {
      sequence.computed = 0;
      return false;
    }
    sequence.holding = holding;
    sequence.cachedTokens = sequence.computed;
    sequence.scheduled = tokens;
    budget.left -= tokens;
    if (prefixKeys.length > 0) this.counts.prefixQueries += promptTokens;
    this.counts.prefixHits += sequence.computed;
    return true;
  }

  private grow(sequence: Sequence, tokens: number): boolean {
    return this.kv.grow(sequence.holding, this.blocksFor(sequence.computed + tokens));
  }

  /** The one that came last gives up its memory, starts over later, and goes to the front of the queue. */
  private preemptLast(): void {
    const last = this.running.pop();
    if (last === undefined) return;
    this.kv.release(last.holding);
    last.holding = emptyHolding();
    last.computed = 0;
    last.scheduled = 0;
    this.counts.preemptions += 1;
    this.waiting.unshift(last);
  }

  private advanceAll(stepMs: number): void {
    for (const sequence of this.running) this.advance(sequence, stepMs);
    this.running = this.running.filter((sequence) => sequence.produced < sequence.request.outputTokens);
  }

  private advance(sequence: Sequence, stepMs: number): void {
    const { request } = sequence;
    sequence.computed += sequence.scheduled;
    sequence.scheduled = 0;
    sequence.elapsedMs += stepMs;
    if (sequence.produced === 0) sequence.prefillMs += stepMs;
    const named = Math.floor(Math.min(sequence.computed, request.promptTokens) / this.profile.blockTokens);
    this.kv.name(sequence.holding, request.prefixKeys ?? [], named);
    if (sequence.computed < request.promptTokens + sequence.produced) return;
    this.produce(sequence, tokensDue(this.profile, sequence));
  }

  private produce(sequence: Sequence, count: number): void {
    if (count === 0) return;
    const { id, promptTokens, outputTokens } = sequence.request;
    if (sequence.produced === 0) {
      this.counts.promptTokens += promptTokens;
      this.counts.cachedTokens += sequence.cachedTokens;
      this.events.push({ kind: 'first', id, cachedTokens: sequence.cachedTokens });
    }
    sequence.produced += count;
    this.counts.generationTokens += count;
    this.events.push({ kind: 'tokens', id, count });
    if (sequence.produced < outputTokens) return;
    this.kv.release(sequence.holding);
    this.counts.finished += 1;
    this.prefillSeconds.observe(sequence.prefillMs / 1_000);
    this.events.push({ kind: 'finished', id });
  }

  private blocksFor(tokens: number): number {
    return Math.ceil(tokens / this.profile.blockTokens);
  }
}
