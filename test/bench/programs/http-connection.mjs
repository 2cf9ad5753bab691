// An HTTP/1.1 client on a raw socket: it has to cost far less than what it measures.
import { connect } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const CRLF = Buffer.from('\r\n');
const EMPTY = Buffer.alloc(0);

/** The bytes of a request. */
export function requestBytes({ method = 'POST', path, port, headers = {}, body }) {
  const lines = [`${method} ${path} HTTP/1.1`, `host: 127.0.0.1:${port}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body !== undefined) lines.push('content-type: application/json', `content-length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`);
}

/** A body of a known length. `take` tells whether it is complete with these bytes. */
class WholeBody {
  constructor(missing, onData) {
    this.missing = missing;
    this.onData = onData;
  }

  take(bytes) {
    this.missing -= bytes.length;
    if (bytes.length > 0) this.onData(bytes);
    return this.missing <= 0;
  }
}

/** A body in chunks; the client never sends a second request before the answer is complete, so nothing follows it. */
class ChunkedBody {
  #pending = EMPTY;
  /** Bytes of the current chunk and the CRLF behind it. */
  #missing = 0;
  #last = false;

  constructor(onData) {
    this.onData = onData;
  }

  take(input) {
    let bytes = this.#pending.length > 0 ? Buffer.concat([this.#pending, input]) : input;
    this.#pending = EMPTY;
    while (bytes.length > 0) {
      if (this.#missing > 0) {
        bytes = this.#data(bytes);
        if (this.#missing === 0 && this.#last) return true;
        continue;
      }
      const lineEnd = bytes.indexOf(CRLF);
      if (lineEnd < 0) {
        this.#pending = bytes;
        return false;
      }
      const size = Number.parseInt(bytes.latin1Slice(0, lineEnd), 16);
      this.#last = size === 0;
      this.#missing = size + CRLF.length;
      bytes = bytes.subarray(lineEnd + CRLF.length);
    }
    return false;
  }

  #data(bytes) {
    const part = bytes.subarray(0, this.#missing);
    const ownBytes = Math.min(part.length, this.#missing - CRLF.length);
    this.#missing -= part.length;
    if (ownBytes > 0) this.onData(part.subarray(0, ownBytes));
    return bytes.subarray(part.length);
  }
}

/** One request at a time, on a connection that is kept for as long as the server keeps it. */
export class HttpConnection {
  #port;
  #socket;
  #handlers;
  #head = EMPTY;
  #body;
  #closing = false;

  constructor(port) {
    this.#port = port;
    this.#open();
  }

  /** `handlers`: { onHead(status), onData(bytes), onEnd(), onError(error), onSent() }; only onEnd and onError are a must. */
  send(bytes, handlers) {
    if (this.#closing) this.#open();
    this.#handlers = handlers;
    this.#socket.write(bytes, handlers.onSent);
  }

  /** Leaves; no handler is called any more. */
  destroy() {
    this.#handlers = undefined;
    this.#socket.destroy();
  }

  #open() {
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    const fail = (error) => socket === this.#socket && this.#fail(error);
    socket.on('data', (bytes) => socket === this.#socket && this.#take(bytes));
    socket.on('error', fail);
    socket.on('close', () => fail(new Error('the connection was closed')));
    this.#socket = socket;
    this.#closing = false;
  }

  #fail(error) {
    const handlers = this.#handlers;
    this.#handlers = undefined;
    handlers?.onError(error);
  }

  #take(input) {
    if (this.#handlers === undefined) return;
    const bytes = this.#body === undefined ? this.#takeHead(input) : input;
    if (this.#body === undefined || !this.#body.take(bytes)) return;
    const handlers = this.#handlers;
    this.#handlers = undefined;
    this.#body = undefined;
    if (this.#closing) this.#socket.end();
    handlers?.onEnd();
  }

  /** What follows the head, if that is complete. */
  #takeHead(input) {
    const bytes = this.#head.length > 0 ? Buffer.concat([this.#head, input]) : input;
    const end = bytes.indexOf(HEAD_END);
    this.#head = end < 0 ? bytes : EMPTY;
    if (end < 0) return EMPTY;
    const head = bytes.latin1Slice(0, end);
    const handlers = this.#handlers;
    const onData = (data) => handlers.onData?.(data);
    this.#closing = /\r\nconnection: *close/i.test(head);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length !== undefined) this.#body = new WholeBody(Number(length), onData);
    else if (/\r\ntransfer-encoding: *chunked/i.test(head)) this.#body = new ChunkedBody(onData);
    else this.#fail(new Error('an answer that ends with its connection'));
    handlers.onHead?.(Number(head.slice(9, 12)));
    return bytes.subarray(end + HEAD_END.length);
  }
}
