import type { JsonBytes } from './json-bytes.js';
import { eachElement, eachMember } from './json-walk.js';
import type { ScannedBody } from './scan-request.js';

/**
 * Looks values up in the bytes of a checked body, where their numbers have the digits that they were sent with: a tree
 * would round them. Of two members with one name the last counts, as in the tree.
 */
export class SourceTexts {
  private readonly json: JsonBytes;
  private readonly open: number;

  constructor({ json, open }: ScannedBody) {
    this.json = json;
    this.open = open;
  }

  /** The `input` of every block of every message, by the positions of both. */
  inputs(): ReadonlyMap<string, string> {
    const found = new Map<string, string>();
    this.eachObjectIn(this.valueOf(this.open, 'messages'), (message, at) => {
      this.eachObjectIn(this.valueOf(message, 'content'), (block, position) => {
        const input = this.valueOf(block, 'input');
        if (input !== undefined) found.set(`${at}.${position}`, this.textOf(input));
      });
    });
    return found;
  }

  /** The member `name` of every object in the list `list`, by its position. */
  membersIn(list: string, name: string): ReadonlyMap<number, string> {
    const found = new Map<number, string>();
    this.eachObjectIn(this.valueOf(this.open, list), (element, at) => {
      const value = this.valueOf(element, name);
      if (value !== undefined) found.set(at, this.textOf(value));
    });
    return found;
  }

  /** The value at the end of these members; undefined: one of them is not there. */
  member(...names: readonly string[]): string | undefined {
    let at: number | undefined = this.open;
    for (const name of names) at = at === undefined ? undefined : this.valueOf(at, name);
    return at === undefined ? undefined : this.textOf(at);
  }

  /** Where the member's value begins; undefined: there is none, or no object. */
  private valueOf(open: number, name: string): number | undefined {
    const { json } = this;
    if (!json.isObject(open)) return undefined;
    let found: number | undefined;
    eachMember(json, open, (keyStart, keyEnd, valueStart) => {
      if (json.says(keyStart, keyEnd, name)) found = valueStart;
      return json.endOfValue(valueStart, 0);
    });
    return found;
  }

  private eachObjectIn(list: number | undefined, visit: (open: number, position: number) => void): void {
    const { json } = this;
    if (list === undefined || !json.isArray(list)) return;
    let position = 0;
    eachElement(json, list, (start) => {
      visit(start, position++);
      return json.endOfValue(start, 0);
    });
  }

  private textOf(start: number): string {
    return this.json.bytes.toString('utf8', start, this.json.endOfValue(start, 0));
  }
}
