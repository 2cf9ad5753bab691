import type { Usage } from '../../../../common/canonical/usage.js';
import { eventFields, type EventSink, EventSplitter } from '../../../../common/sse.js';
import { DeliveredEvents } from '../delivered-tokens.js';
import { isObject, parsedJson } from '../json-value.js';
import type { NativeTap } from '../native-rendering.js';
import { usageFromResponse } from './response-usage.js';

/** The last event repeats the whole answer, and is the one that has to be read. */
const LOOKED_AT_BYTES = 16 * 1024 * 1024;
/** Enough of an event that is too large to tell its type. */
const HEAD_BYTES = 256;
const OF_INTEREST = /response\.(?:completed|incomplete|failed)|error/;
const COMPLETED = /response\.(?:completed|incomplete)/;
const FAILED = /response\.failed/;
const CONTENT = /\.delta"/;
const NUMBER = /"sequence_number":\s*(\d{1,15})/;

/** Looks at a stream of the dialect's own events as it goes by, and changes nothing. */
export class NativeStream implements EventSink, NativeTap {
  usage: Usage | undefined;
  contentSeen = false;
  /** `response.completed` or `response.incomplete` has gone by. */
  complete = false;
  /** `response.failed` or an `error` has gone by. */
  failed = false;
  private readonly delivered = new DeliveredEvents();
  private readonly splitter = new EventSplitter(this, LOOKED_AT_BYTES);
  private last = '';
  /** The beginning of an event that is too large to be read. */
  private large: string | undefined;

  get deliveredTokens(): number {
    return this.delivered.tokens;
  }

  /** The client has no half event. */
  get onBoundary(): boolean {
    return this.splitter.onBoundary;
  }

  /** The number of an event that would follow. */
  get nextNumber(): number {
    const number = NUMBER.exec(this.last)?.[1];
    return number === undefined ? 0 : Number(number) + 1;
  }

  push(chunk: Uint8Array): void {
    this.splitter.push(Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
  }

  takeRest(): Buffer {
    return this.splitter.takeRest();
  }

  event(bytes: Buffer): void {
    this.last = bytes.toString('latin1');
    if (CONTENT.test(this.last)) {
      this.contentSeen = true;
      this.delivered.event(bytes.length, true);
    }
    if (OF_INTEREST.test(this.last)) this.read(bytes);
  }

  part(bytes: Buffer, last: boolean): void {
    this.contentSeen = true;
    this.large ??= bytes.toString('latin1', 0, HEAD_BYTES);
    if (!last) return;
    this.complete ||= COMPLETED.test(this.large);
    this.failed ||= FAILED.test(this.large);
    this.large = undefined;
  }

  lineFeed(): void {
    // It has gone by with its event.
  }

  private read(bytes: Buffer): void {
    const data = parsedJson(eventFields(bytes).data ?? '');
    if (!isObject(data)) return;
    switch (data['type']) {
      case 'response.completed':
      case 'response.incomplete':
        this.complete = true;
        break;
      case 'response.failed':
      case 'error':
        this.failed = true;
        break;
      default:
        return;
    }
    this.usage = usageFromResponse(data['response']) ?? this.usage;
  }
}
