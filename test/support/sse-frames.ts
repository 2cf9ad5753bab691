import { StringDecoder } from 'node:string_decoder';
import { isObject, parseJson } from './json.js';

/** One event as a client sees it: `data` is the parsed JSON, or the string itself. */
export interface SseFrame {
  readonly event?: string;
  readonly data: unknown;
}

/**
 * Reads a stream of server-sent events as it comes in. Comments and `ping` events are left out. An event with a name but
 * no data, or with empty data, is handed out with the data '': official clients break on it, so a check must see it.
 */
export class SseFrameReader {
  private readonly decoder = new StringDecoder('utf8');
  private pending = '';
  private started = false;
  private event: string | undefined;
  private data: string[] | undefined;

  /** The events that this piece completed. */
  push(chunk: Uint8Array): SseFrame[] {
    this.pending += this.decoder.write(Buffer.from(chunk));
    if (!this.started && this.pending !== '') {
      this.started = true;
      this.pending = this.pending.replace(/^\uFEFF/, '');
    }
    return this.takeLines().flatMap((line) => this.readLine(line));
  }

  /** What has come of an event that its blank line never ended; '' after a stream that ended well. */
  get rest(): string {
    const lines = [...(this.event === undefined ? [] : [`event: ${this.event}`]), ...(this.data ?? [])];
    return [...lines, this.pending.replace(/\r$/, '')].filter((line) => line !== '').join('\n');
  }

  /** Complete lines; a `\r` at the very end may be half of a `\r\n` and waits. */
  private takeLines(): string[] {
    const parts = this.pending.split(/\r\n|\n|\r(?!$)/);
    this.pending = parts.pop() ?? '';
    return parts;
  }

  private readLine(line: string): SseFrame[] {
    if (line === '') return this.dispatch();
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'event') this.event = value;
    if (name === 'data') (this.data ??= []).push(value);
    return [];
  }

  private dispatch(): SseFrame[] {
    const { event, data } = this;
    this.event = undefined;
    this.data = undefined;
    if (event === undefined && data === undefined) return [];
    const text = (data ?? []).join('\n');
    const frame: SseFrame = { ...(event === undefined ? {} : { event }), data: parseJson(text) ?? text };
    return isPing(frame) ? [] : [frame];
  }
}

const isPing = ({ event, data }: SseFrame): boolean => event === 'ping' || (isObject(data) && data['type'] === 'ping');

/** All events of a body that is complete, and what was left behind the last of them. */
export function readFrames(body: Uint8Array): { frames: SseFrame[]; rest: string } {
  const reader = new SseFrameReader();
  const frames = reader.push(body);
  return { frames: [...frames, ...reader.push(Buffer.from(body.at(-1) === 0x0d ? '\n' : ''))], rest: reader.rest };
}
