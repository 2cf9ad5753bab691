import { Line, type Waiting } from './line.js';

/** Milliseconds that one line spans. */
const SPAN_MS = 250;

/** What waits until a deadline at most: of the monotonic clock, in milliseconds. */
export interface Dated extends Waiting {
  readonly deadline: number;
}

/**
 * Who must not wait longer, by quarter seconds (a timing wheel: Varghese and Lauck, 1987): joining and leaving take the
 * same time however many wait.
 */
export class Deadlines<T extends Dated> {
  readonly #lines = new Map<number, Line<T>>();
  /** The first quarter second that may hold anybody. */
  #first = Infinity;
  size = 0;

  add(item: T): void {
    const at = spanOf(item.deadline);
    let line = this.#lines.get(at);
    if (line === undefined) this.#lines.set(at, (line = new Line<T>()));
    line.push(item);
    this.#first = Math.min(this.#first, at);
    this.size += 1;
  }

  /** One that was added has left: its `waits` is false already. */
  left({ deadline }: T): void {
    const at = spanOf(deadline);
    const line = this.#lines.get(at);
    line?.left();
    if (line?.size === 0) this.#lines.delete(at);
    this.size -= 1;
    if (this.size === 0) this.#first = Infinity;
  }

  /** Those whose deadline has come, the earliest quarter second first. They stay until they leave. */
  due(now: number): T[] {
    const due: T[] = [];
    const last = spanOf(now);
    for (let at = this.#first; at <= last; at += 1) {
      const line = this.#lines.get(at);
      if (line !== undefined) due.push(...[...line.values()].filter(({ deadline }) => deadline <= now));
      else if (at === this.#first && at < last) this.#first = at + 1;
    }
    return due;
  }
}

const spanOf = (time: number): number => Math.floor(time / SPAN_MS);
