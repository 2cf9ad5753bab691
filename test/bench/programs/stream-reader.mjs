import { nowMicros } from './clock.mjs';
import { HttpConnection } from './http-connection.mjs';

const STAMP = '"sent":';
/** What makes an event one with a token, in either dialect: the engine's own, and one that was translated from it. */
const TOKEN = { openai: STAMP, anthropic: '"text_delta"' };

/** A stream on a connection of its own: counts its tokens, and measures how long each was on its way. */
export class StreamReader {
  tokens = 0;
  /** Microseconds from the engine's write; only where its stamp is handed on. */
  delays = [];
  #carry = '';
  #status = 0;
  #onFirst;
  #connection;
  #token;
  /** Settles at the end, with whether the answer was a whole one. */
  done;
  /** Settles with the first token, or at the end with whether there was one. */
  first;
  /** Settles when the request has been handed to the system. */
  sent;

  constructor(port, request, dialect = 'openai') {
    this.#token = TOKEN[dialect];
    this.#connection = new HttpConnection(port);
    this.first = new Promise((resolve) => (this.#onFirst = resolve));
    this.sent = new Promise((onSent) => {
      this.done = new Promise((resolve) => this.#send(request, resolve, onSent));
    });
    void this.done.then(() => this.#onFirst(this.tokens > 0));
  }

  leave() {
    this.#connection.destroy();
  }

  #send(request, resolve, onSent) {
    this.#connection.send(request, {
      onSent: () => onSent(),
      onHead: (status) => (this.#status = status),
      onData: (bytes) => this.#take(bytes),
      onEnd: () => {
        this.#connection.destroy();
        resolve(this.#status === 200);
      },
      onError: () => resolve(false),
    });
  }

  #take(bytes) {
    const now = nowMicros();
    const events = (this.#carry + bytes.latin1Slice()).split('\n\n');
    this.#carry = events.pop();
    for (const event of events) {
      const at = event.lastIndexOf(this.#token);
      if (at < 0) continue;
      this.tokens += 1;
      if (this.#token === STAMP) this.delays.push(now - Number.parseInt(event.slice(at + STAMP.length), 10));
    }
    if (this.tokens > 0) this.#onFirst(true);
  }
}
