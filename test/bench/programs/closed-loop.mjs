import { nowMicros } from './clock.mjs';
import { HttpConnection } from './http-connection.mjs';

/** So many failed requests end a loop: whatever it measures is broken. */
const MOST_ERRORS = 100;

/** Clients that each send the same request again as soon as it has been answered. */
export class ClosedLoop {
  latencies = [];
  errors = 0;
  #left;
  #deadline;

  /** `terms`: how many `requests` altogether, within how many `seconds`, and the `status` that each has to get. */
  constructor(port, request, { requests = Infinity, seconds, status = 200 }) {
    this.port = port;
    this.request = request;
    this.status = status;
    this.#left = requests;
    this.#deadline = nowMicros() + seconds * 1e6;
  }

  /** Settles when all are done. */
  async run(connections) {
    await Promise.all(Array.from({ length: connections }, () => this.#client()));
  }

  /** One client on a connection of its own; no promise for a request. */
  #client() {
    return new Promise((resolve) => {
      const connection = new HttpConnection(this.port);
      let sentAt = 0;
      let status = 0;
      const next = () => {
        sentAt = nowMicros();
        if (this.#goesOn(sentAt)) return connection.send(this.request, handlers);
        connection.destroy();
        resolve();
      };
      const handlers = {
        onHead: (value) => (status = value),
        onEnd: () => {
          this.#count(status, nowMicros() - sentAt);
          next();
        },
        onError: () => {
          this.errors += 1;
          resolve();
        },
      };
      next();
    });
  }

  #goesOn(now) {
    if (this.#left <= 0 || now >= this.#deadline || this.errors >= MOST_ERRORS) return false;
    this.#left -= 1;
    return true;
  }

  #count(status, tookMicros) {
    if (status === this.status) this.latencies.push(tookMicros);
    else this.errors += 1;
  }
}
