/** One request as it came over the wire, and how it ended. */
export interface SeenRequest {
  readonly method: string;
  /** As sent, with the query. */
  readonly path: string;
  /** Name, value, name, value … in the spelling and order of the wire. */
  readonly rawHeaders: readonly string[];
  body: Buffer;
  /** `aborted`: the client closed before the answer was complete. `cut`: a fault of ours ended it. */
  outcome: 'open' | 'finished' | 'aborted' | 'cut';
  /** On the monotonic clock, in ms; undefined while it is open. */
  endedAtMs: number | undefined;
}

const MAX_REQUESTS = 1_000;
const MAX_BODY_BYTES = 32 * 1_024 * 1_024;

/** Polls and our own control would push out what is of interest. */
const isAside = (path: string): boolean => path.startsWith('/metrics') || path.startsWith('/__sim/');

/** The latest requests, within a bound of number and of memory, and counts over all there ever were. */
export class SeenRequests {
  readonly latest: SeenRequest[] = [];
  readonly counts = { requests: 0, finished: 0, aborted: 0, cut: 0, polls: 0 };
  private heldBytes = 0;

  add(request: SeenRequest): void {
    if (isAside(request.path)) {
      if (request.path.startsWith('/metrics')) this.counts.polls += 1;
      return;
    }
    this.counts.requests += 1;
    this.latest.push(request);
  }

  /** The body has arrived. */
  bodyOf(request: SeenRequest, body: Buffer): void {
    request.body = body;
    if (isAside(request.path)) return;
    this.heldBytes += body.length;
    while (this.latest.length > MAX_REQUESTS || (this.heldBytes > MAX_BODY_BYTES && this.latest.length > 1)) {
      this.heldBytes -= this.latest.shift()?.body.length ?? 0;
    }
  }

  end(request: SeenRequest, outcome: 'finished' | 'aborted' | 'cut'): void {
    if (request.outcome !== 'open') return;
    request.outcome = outcome;
    request.endedAtMs = performance.now();
    if (!isAside(request.path)) this.counts[outcome] += 1;
  }
}
