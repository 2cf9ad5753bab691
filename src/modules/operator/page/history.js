const LEAST_MS = 60_000;
const MOST_MS = 600_000;

/** The last minutes of every upstream, as the gateway sampled them; a hole where a sample was missed. */
export class History {
  #rows = new Map();
  #newest = 0;
  #series = [];
  #most = 0;
  everyMs = 1000;

  /** All that the gateway remembers. */
  replace({ everyMs, series, newest, upstreams }) {
    this.everyMs = everyMs;
    this.#series = series;
    this.#newest = newest;
    this.#rows = new Map(Object.entries(upstreams).map(([name, rows]) => [name, [...rows]]));
    this.#most = MOST_MS / everyMs;
  }

  /** The newest sample; true: it is one that was not known. */
  add(sample) {
    if (sample === undefined || sample.index <= this.#newest) return false;
    // Before the first sample nothing was missed, whatever its number.
    const missed = this.#newest === 0 ? 0 : Math.min(this.#most, sample.index - this.#newest - 1);
    this.#newest = sample.index;
    for (const [name, rows] of this.#rows) {
      for (let i = 0; i < missed; i += 1) rows.push(null);
      rows.push(sample.upstreams[name] ?? null);
      if (rows.length > this.#most) rows.splice(0, rows.length - this.#most);
    }
    return true;
  }

  /** How many samples a plot is wide: a minute at least, and all that there are. */
  get width() {
    const counts = [...this.#rows.values()].map((rows) => rows.length);
    return Math.max(LEAST_MS / this.everyMs, ...counts);
  }

  /** That in milliseconds. */
  get spanMs() {
    return this.width * this.everyMs;
  }

  /** One series of one upstream, oldest first; null: not known. */
  of(upstream, name) {
    const at = this.#series.indexOf(name);
    return (this.#rows.get(upstream) ?? []).map((row) => row?.[at] ?? null);
  }

  /** The sum of a series over all upstreams and the last so many milliseconds. */
  total(name, overMs) {
    const count = Math.max(1, Math.round(overMs / this.everyMs));
    let sum = 0;
    for (const upstream of this.#rows.keys())
      for (const value of this.of(upstream, name).slice(-count)) sum += value ?? 0;
    return sum;
  }
}
