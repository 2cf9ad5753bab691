import type { JsonBytes } from './json-bytes.js';
import { eachElement, eachMember, type Span } from './json-walk.js';

/** Depths of what a message consists of, its list being a member of the body. */
const MESSAGES_DEPTH = 2;
const MESSAGE_DEPTH = 3;
const CALL_DEPTH = 5;
const FUNCTION_DEPTH = 6;

/** Values inside `messages` that some engine may not digest. */
export interface MessagePlaces {
  /** Roles that say `developer`. */
  readonly developerRoles: readonly Span[];
  /** The null contents of assistants who called tools. */
  readonly nullContents: readonly Span[];
  /** The arguments of replayed tool calls, whatever they are. */
  readonly callArguments: readonly Span[];
}

/** Reads the list of messages as any other value, and notes places on the way, so that no repair has to read it again. */
export class MessageScanner implements MessagePlaces {
  readonly developerRoles: Span[] = [];
  readonly nullContents: Span[] = [];
  readonly callArguments: Span[] = [];

  constructor(private readonly json: JsonBytes) {}

  /** `start`: where the value of `messages` begins, whatever its type. */
  read(start: number): number {
    const { json } = this;
    if (!json.isArray(start)) return json.endOfValue(start, MESSAGES_DEPTH - 1);
    return eachElement(json, start, (message) =>
      json.isObject(message) ? this.message(message) : json.endOfValue(message, MESSAGES_DEPTH),
    );
  }

  private message(open: number): number {
    const { json } = this;
    let assistant = false;
    let called = false;
    let nullContent: Span | undefined;
    // Of two members with one name the last counts, as most readers have it.
    const end = eachMember(json, open, (keyStart, keyEnd, valueStart) => {
      if (json.says(keyStart, keyEnd, 'tool_calls') && json.isArray(valueStart)) {
        called = true;
        return this.calls(valueStart);
      }
      const valueEnd = json.endOfValue(valueStart, MESSAGE_DEPTH);
      if (json.says(keyStart, keyEnd, 'role')) assistant = this.role(valueStart, valueEnd);
      if (json.says(keyStart, keyEnd, 'content')) {
        nullContent = json.isNull(valueStart) ? { start: valueStart, end: valueEnd } : undefined;
      }
      return valueEnd;
    });
    if (assistant && called && nullContent !== undefined) this.nullContents.push(nullContent);
    return end;
  }

  /** Whether it is the assistant's. */
  private role(start: number, end: number): boolean {
    if (!this.json.isString(start)) return false;
    if (this.json.says(start, end, 'developer')) this.developerRoles.push({ start, end });
    return this.json.says(start, end, 'assistant');
  }

  private calls(open: number): number {
    return eachElement(this.json, open, (call) =>
      this.inObject(call, CALL_DEPTH, 'function', (start) => this.called(start)),
    );
  }

  private called(start: number): number {
    return this.inObject(start, FUNCTION_DEPTH, 'arguments', (given) => {
      const end = this.json.endOfValue(given, FUNCTION_DEPTH);
      this.callArguments.push({ start: given, end });
      return end;
    });
  }

  /** Reads a value; where it is an object, `read` takes the member of that name. `depth` is the object's own. */
  private inObject(start: number, depth: number, name: string, read: (valueStart: number) => number): number {
    const { json } = this;
    if (!json.isObject(start)) return json.endOfValue(start, depth - 1);
    return eachMember(json, start, (keyStart, keyEnd, valueStart) =>
      json.says(keyStart, keyEnd, name) ? read(valueStart) : json.endOfValue(valueStart, depth),
    );
  }
}
