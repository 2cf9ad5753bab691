import type { CallFragment } from './call-fragment.js';
import type { StreamedCalls } from './streamed-calls.js';

/**
 * What is said while a call is under way waits for it: what the call is told in must not be closed before the call is
 * complete. `Kind`: what tells words apart that are told in different places.
 */
export class WordsBesideCalls<Kind> {
  private waiting: { readonly kind: Kind; readonly text: string }[] = [];

  /** `tell`: hands words out, in a place of their kind. */
  constructor(
    private readonly calls: StreamedCalls,
    private readonly tell: (kind: Kind, text: string) => void,
  ) {}

  /** `isOpen`: the place of such words is the one that is open, and no call is. */
  say(kind: Kind, text: string, isOpen: boolean): void {
    if (this.waiting.length > 0 || (!isOpen && !this.calls.settle())) this.waiting.push({ kind, text });
    else this.tell(kind, text);
  }

  call(fragment: CallFragment): void {
    this.calls.take(fragment);
    if (this.waiting.length > 0 && this.calls.settle()) this.tellWaiting();
  }

  /** All calls are over. */
  tellWaiting(): void {
    for (const { kind, text } of this.waiting) this.tell(kind, text);
    this.waiting = [];
  }
}
