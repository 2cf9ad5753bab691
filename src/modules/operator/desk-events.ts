import type { OperatorDesk } from './operator-desk.js';
import type { WatchedEvents } from './watchers.js';

/** What the desk says, as server-sent events. JSON has no line breaks of its own, so each is one line of data. */
export class DeskEvents implements WatchedEvents {
  constructor(private readonly desk: OperatorDesk) {}

  greeting(): string {
    return event('about', this.desk.about()) + event('history', this.desk.history());
  }

  news(): string {
    return event('snapshot', this.desk.snapshot());
  }
}

const event = (name: string, document: object): string => `event: ${name}\ndata: ${JSON.stringify(document)}\n\n`;
