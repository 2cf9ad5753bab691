/** A worker that has lived for less has died at once. */
const EARLY_MS = 10_000;
const MOST_EARLY_DEATHS = 5;
const FIRST_DELAY_MS = 100;

/** How soon a worker that has died is started again. */
export class Restarts {
  #early = 0;

  /** Milliseconds until the next start; undefined: it has died at once again and again. */
  delayAfter(livedMs: number): number | undefined {
    if (livedMs >= EARLY_MS) {
      this.#early = 0;
      return 0;
    }
    this.#early += 1;
    return this.#early < MOST_EARLY_DEATHS ? FIRST_DELAY_MS * 2 ** (this.#early - 1) : undefined;
  }

  /** What is said when there is no sense in another start. */
  hopeless(worker: number, how: string): string {
    return `worker ${worker} has ended ${MOST_EARLY_DEATHS} times in a row within ${EARLY_MS / 1000} s of its start (${how}): giving up`;
  }
}
