import { pino, type Logger } from 'pino';
import type { Clock, Timer } from '../../common/clock.js';
import { LinePage } from './core/line-page.js';

/** Lines are written together: a write for each would cost as much as relaying the request it tells of. */
const FLUSH_AFTER_MS = 100;

interface ByteSink {
  write(bytes: Buffer): boolean;
  flushSync(): void;
}

/** The log on standard output: asynchronous, one JSON object a line, never later than a moment. */
export class LogWriter {
  readonly log: Logger;
  /** What every line says of the process it comes from, as JSON behind its time; empty where there is one only. */
  readonly mark: string;
  // Its types know texts only. Writing one, Node takes three times its size of the system and gives it back.
  readonly #destination = pino.destination({ dest: 1, sync: false, contentMode: 'buffer' }) as unknown as ByteSink;
  readonly #page = new LinePage();
  #flush: Timer | undefined;

  constructor(
    level: string,
    private readonly clock: Clock,
    worker?: number,
  ) {
    this.mark = worker === undefined ? '' : `,"worker":${worker}`;
    const log = pino({ level }, { write: (line: string) => this.write(line) });
    this.log = worker === undefined ? log : log.child({ worker });
  }

  /** Writes a complete line, whatever the level. */
  write(line: string): void {
    let added = this.#page.add(line);
    if (!added) {
      this.flush();
      added = this.#page.add(line);
    }
    if (added) this.#flush ??= this.clock.after(FLUSH_AFTER_MS, () => this.flush());
    else this.#destination.write(Buffer.from(line));
  }

  /** Hands what is buffered to the system. */
  flush(): void {
    this.#flush?.cancel();
    this.#flush = undefined;
    const lines = this.#page.take();
    if (lines.length > 0) this.#destination.write(lines);
  }

  /** Writes all there is before it returns: for the last words of a process. */
  end(): void {
    this.flush();
    this.#destination.flushSync();
  }
}
