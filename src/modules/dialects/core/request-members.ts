import { invalidBody, invalidField } from './body-problems.js';
import type { JsonBytes } from './json-bytes.js';
import { eachMember, type Member } from './json-walk.js';
import { knownName, type MemberName } from './member-names.js';
import { MessageScanner, type MessagePlaces } from './scan-messages.js';

/** The members found. `miscasedModel` is what only a reader that ignores case would take for `model`. */
export interface RequestMembers {
  readonly found: ReadonlyMap<MemberName, Member>;
  readonly miscasedModel: Member | undefined;
  readonly messagePlaces: MessagePlaces;
}

const MISCASED = 'has to be written in lower case, since some engines ignore the case';

/** Reads the top level, and with it the whole body up to the end of its object. */
export class MemberReader implements RequestMembers {
  readonly found = new Map<MemberName, Member>();
  readonly messagePlaces: MessageScanner;
  /** By the name that they would have in lower case. */
  private readonly miscased = new Map<MemberName, Member>();

  constructor(private readonly json: JsonBytes) {
    this.messagePlaces = new MessageScanner(json);
  }

  get miscasedModel(): Member | undefined {
    return this.miscased.get('model');
  }

  /** `open`: where the object begins; returns the index behind it. Throws `invalid-body` for a member that stands twice. */
  read(open: number): number {
    return eachMember(this.json, open, (keyStart, keyEnd, valueStart) => this.member(keyStart, keyEnd, valueStart));
  }

  /** `model` alone may be written so, where it is going to be replaced. */
  refuseMiscased(): void {
    for (const name of this.miscased.keys()) {
      if (name !== 'model') throw invalidField(name, MISCASED);
    }
  }

  private member(keyStart: number, keyEnd: number, valueStart: number): number {
    const { json } = this;
    const known = knownName(json, keyStart, keyEnd);
    if (known === undefined) return json.endOfValue(valueStart, 1);
    const { name, exact } = known;
    if (this.found.has(name) || this.miscased.has(name)) throw twice(name, keyStart);
    const valueEnd = name === 'messages' ? this.messagePlaces.read(valueStart) : json.endOfValue(valueStart, 1);
    (exact ? this.found : this.miscased).set(name, { keyStart, keyEnd, valueStart, valueEnd });
    return valueEnd;
  }
}

/** The member `name` of the object that opens at `open`, called `path` in messages; refused where it stands twice. */
export function onlyMember(json: JsonBytes, open: number, name: string, path: string): Member | undefined {
  let found: Member | undefined;
  eachMember(json, open, (keyStart, keyEnd, valueStart) => {
    const valueEnd = json.endOfValue(valueStart, 0);
    if (!json.says(keyStart, keyEnd, name)) return valueEnd;
    if (found !== undefined) throw twice(path, keyStart);
    found = { keyStart, keyEnd, valueStart, valueEnd };
    return valueEnd;
  });
  return found;
}

const twice = (path: string, at: number): Error =>
  invalidBody(`has the member "${path}" twice, case ignored, the second time at byte ${at}; it may stand once`);
