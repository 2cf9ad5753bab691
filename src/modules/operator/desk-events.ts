import type { Desk } from './desk.js';
import type { WatchedEvents } from './watchers.js';

/** What the desk says, as server-sent events. JSON has no line breaks of its own, so each is one line of data. */
export class DeskEvents implements WatchedEvents {
  constructor(private readonly desk: Desk) {}

  async greeting(): Promise<string> {
    const snapshot = await this.desk.snapshot();
    return event('about', this.desk.about()) + event('history', this.desk.history()) + event('snapshot', snapshot);
  }

  async news(): Promise<string> {
    return event('snapshot', await this.desk.snapshot());
  }
}

const event = (name: string, document: object): string => `event: ${name}\ndata: ${JSON.stringify(document)}\n\n`;
