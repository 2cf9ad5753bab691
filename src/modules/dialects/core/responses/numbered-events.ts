/** The events of one stream as text, numbered from 0. */
export class NumberedEvents {
  private out = '';
  private next = 0;

  /** `members`: what stands in the data behind the type and the number, as JSON text with a comma before each. */
  add(type: string, members: string): void {
    this.out += `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.next}${members}}\n\n`;
    this.next += 1;
  }

  /** The events since the last call. */
  take(): string {
    const { out } = this;
    this.out = '';
    return out;
  }
}
