import type { NumberedEvents } from './numbered-events.js';
import { partJson, type PartKind } from './output-part.js';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** An item of the output under way; its parts are told one after the other, and then itself. */
export interface OutputItem {
  /** Ends the item with its last events. */
  close(status: ItemStatus): void;
  /** The item as it is now, in JSON. */
  json(status: ItemStatus): string;
}

/** A message, or reasoning: parts, of which one at a time is open. */
export class SpeechItem implements OutputItem {
  private readonly id: string;
  private readonly place: string;
  private readonly parts: string[] = [];
  private part: PartKind | undefined;
  private text = '';
  private deltaType = '';
  private deltaPlace = '';

  constructor(
    private readonly events: NumberedEvents,
    readonly kind: PartKind['item'],
    id: string,
    private readonly index: number,
  ) {
    this.id = JSON.stringify(id);
    this.place = `,"item_id":${this.id},"output_index":${index}`;
    events.add('response.output_item.added', `,"output_index":${index},"item":${this.json('in_progress')}`);
  }

  say(kind: PartKind, text: string): void {
    if (this.part !== kind) this.openPart(kind);
    this.text += text;
    this.events.add(this.deltaType, `${this.deltaPlace}${JSON.stringify(text)}${kind.eventMembers}`);
  }

  close(status: ItemStatus): void {
    this.closePart();
    this.events.add('response.output_item.done', `,"output_index":${this.index},"item":${this.json(status)}`);
  }

  json(status: ItemStatus): string {
    const unfinished = this.part === undefined ? [] : [partJson(this.part, JSON.stringify(this.text))];
    const content = [...this.parts, ...unfinished].join(',');
    const kind = this.kind === 'message' ? '"role":"assistant"' : '"summary":[]';
    return `{"id":${this.id},"type":"${this.kind}","status":"${status}",${kind},"content":[${content}]}`;
  }

  private openPart(kind: PartKind): void {
    this.closePart();
    const place = `${this.place},"content_index":${this.parts.length}`;
    this.part = kind;
    this.deltaType = `response.${kind.type}.delta`;
    this.deltaPlace = `${place},"delta":`;
    this.events.add('response.content_part.added', `${place},"part":${partJson(kind, '""')}`);
  }

  private closePart(): void {
    const { part } = this;
    if (part === undefined) return;
    const text = JSON.stringify(this.text);
    const place = `${this.place},"content_index":${this.parts.length}`;
    const json = partJson(part, text);
    this.events.add(`response.${part.type}.done`, `${place},"${part.member}":${text}${part.eventMembers}`);
    this.events.add('response.content_part.done', `${place},"part":${json}`);
    this.parts.push(json);
    this.part = undefined;
    this.text = '';
  }
}

/** A call of a function. Its arguments are the client's to read, whatever the engine wrote. */
export class CallItem implements OutputItem {
  private readonly id: string;
  private readonly deltaPlace: string;
  private arguments = '';

  constructor(
    private readonly events: NumberedEvents,
    private readonly call: { readonly id: string; readonly name: string },
    id: string,
    private readonly index: number,
  ) {
    this.id = JSON.stringify(id);
    this.deltaPlace = `,"item_id":${this.id},"output_index":${index},"delta":`;
    events.add('response.output_item.added', `,"output_index":${index},"item":${this.json('in_progress')}`);
  }

  append(json: string): void {
    this.arguments += json;
    this.events.add('response.function_call_arguments.delta', `${this.deltaPlace}${JSON.stringify(json)}`);
  }

  close(status: ItemStatus): void {
    const { index } = this;
    // Clients parse what a complete call brings.
    if (status === 'completed' && this.arguments.trim() === '') this.append('{}');
    const said = `"arguments":${JSON.stringify(this.arguments)},"name":${JSON.stringify(this.call.name)}`;
    this.events.add('response.function_call_arguments.done', `,"item_id":${this.id},"output_index":${index},${said}`);
    this.events.add('response.output_item.done', `,"output_index":${index},"item":${this.json(status)}`);
  }

  json(status: ItemStatus): string {
    const call = `"call_id":${JSON.stringify(this.call.id)},"name":${JSON.stringify(this.call.name)}`;
    const args = JSON.stringify(this.arguments);
    return `{"id":${this.id},"type":"function_call","status":"${status}",${call},"arguments":${args}}`;
  }
}
