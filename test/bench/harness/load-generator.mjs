import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../programs/load.mjs', import.meta.url));

/** The load generator's process, and its orders. */
export class LoadGenerator {
  #child;
  #orders = 0;
  #waiting = new Map();

  constructor(children) {
    this.#child = children.start('the load generator', [process.execPath, PROGRAM], {
      processor: 'load',
      channel: true,
    });
    this.#child.process.on('message', ({ id, result, error }) => {
      const { resolve, reject } = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) resolve(result);
      else reject(new Error(`the load generator: ${error}`));
    });
    void this.#child.process.once('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(this.#child.failure('has ended'));
    });
  }

  /** What an order came to. */
  run(kind, order) {
    const id = (this.#orders += 1);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.process.send({ id, kind, order });
    });
  }
}
