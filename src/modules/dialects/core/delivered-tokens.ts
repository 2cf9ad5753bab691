/** Bytes of text to one token: English, and a little less for everything else. */
const BYTES_PER_TOKEN = 4;

/** Of a whole answer, what is written around its text included. */
export const tokensInBody = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN);

/**
 * How many tokens of output have been delivered, as far as that shows without the engine's count: one for each piece,
 * since most engines send each token on its own; by the bytes where pieces hold more than that.
 */
export class DeliveredTokens {
  pieces = 0;
  private bytes = 0;

  piece(textBytes: number): void {
    this.pieces += 1;
    this.bytes += textBytes;
  }

  get tokens(): number {
    return Math.max(this.pieces, tokensInBody(this.bytes));
  }
}

/** The same of whole events: the smallest one that was seen is taken for what all of them have around their text. */
export class DeliveredEvents {
  private events = 0;
  private bytes = 0;
  private smallest = Infinity;

  event(bytes: number, hasContent: boolean): void {
    if (bytes < this.smallest) this.smallest = bytes;
    if (!hasContent) return;
    this.events += 1;
    this.bytes += bytes;
  }

  get tokens(): number {
    if (this.events === 0) return 0;
    return Math.max(this.events, tokensInBody(this.bytes - this.events * this.smallest));
  }
}
