import type { Usage } from '../../../../common/canonical/usage.js';
import { eventFields, type EventSink, EventSplitter } from '../../../../common/sse.js';
import { DeliveredEvents } from '../delivered-tokens.js';
import { isObject, parsedJson } from '../json-value.js';
import type { NativeTap } from '../native-rendering.js';
import { usageFromMessages } from './message-usage.js';

/** A usage, an error or an end stands in a small event; what is larger is content. */
const LOOKED_AT_BYTES = 256 * 1024;
const OF_INTEREST = /message_start|message_delta|message_stop|error/;
const CONTENT = /content_block_(?:start|delta)/;
const DELTA = 'content_block_delta';

/** Looks at a stream of the dialect's own events as it goes by, and changes nothing. */
export class NativeStream implements EventSink, NativeTap {
  usage: Usage | undefined;
  contentSeen = false;
  /** `message_stop` has gone by. */
  complete = false;
  /** An `error` event has gone by. */
  failed = false;
  private readonly delivered = new DeliveredEvents();
  private readonly splitter = new EventSplitter(this, LOOKED_AT_BYTES);

  get deliveredTokens(): number {
    return this.delivered.tokens;
  }

  /** The client has no half event. */
  get onBoundary(): boolean {
    return this.splitter.onBoundary;
  }

  push(chunk: Uint8Array): void {
    this.splitter.push(Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
  }

  takeRest(): Buffer {
    return this.splitter.takeRest();
  }

  event(bytes: Buffer): void {
    const text = bytes.toString('latin1');
    const content = CONTENT.exec(text);
    if (content !== null) {
      this.contentSeen = true;
      this.delivered.event(bytes.length, content[0] === DELTA);
    }
    if (OF_INTEREST.test(text)) this.read(bytes);
  }

  part(): void {
    this.contentSeen = true;
  }

  lineFeed(): void {
    // It has gone by with its event.
  }

  private read(bytes: Buffer): void {
    const data = parsedJson(eventFields(bytes).data ?? '');
    if (!isObject(data)) return;
    const { message } = data;
    if (data['type'] === 'message_start' && isObject(message))
      this.usage = usageFromMessages(message['usage'], this.usage);
    else if (data['type'] === 'message_delta') this.usage = usageFromMessages(data['usage'], this.usage);
    else if (data['type'] === 'message_stop') this.complete = true;
    else if (data['type'] === 'error') this.failed = true;
  }
}
