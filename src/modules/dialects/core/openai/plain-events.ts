const LF = 0x0a;
const BLANK_LINE = '\n\n';
/** Members that ask for a closer look, unless they hold null or nothing; and a finish_reason that is a text. */
const NEEDLES = /"(?:tool_calls|usage|error)"\s*:(?!\s*(?:null|\[\s*\]))|"finish_reason"\s*:\s*"/g;
const CHOICES = /"choices"\s*:\s*\[/;

/** Whether an event that continues a settled stream can go on unread: a chunk with choices and nothing of interest. */
export function isPlainEvent(event: string): boolean {
  return event.startsWith('data:') && CHOICES.test(event) && !needsALook(event, 0);
}

/** The plain events of one stream, of which all have the same beginning: it is looked through once. */
export class PlainEvents {
  /** Up to the choices; nothing in it asks for a closer look. */
  private beginning: string | undefined;

  /** Exactly one event, ended by LFs, that no rule is about. */
  isOne(chunk: Buffer): boolean {
    const end = chunk.length - BLANK_LINE.length;
    if (chunk[end] !== LF || chunk[end + 1] !== LF) return false;
    const text = chunk.toString('latin1');
    if (text.indexOf(BLANK_LINE) !== end) return false;
    if (this.beginning !== undefined && text.startsWith(this.beginning))
      return !needsALook(text, this.beginning.length);
    if (!isPlainEvent(text)) return false;
    const choices = CHOICES.exec(text);
    if (choices !== null) this.beginning = text.slice(0, choices.index + choices[0].length);
    return true;
  }
}

function needsALook(event: string, from: number): boolean {
  NEEDLES.lastIndex = from;
  return NEEDLES.test(event);
}
