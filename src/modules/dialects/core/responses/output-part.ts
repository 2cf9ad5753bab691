/** A part of an item: what it is called in the part itself and in its events. */
export interface PartKind {
  readonly type: 'output_text' | 'refusal' | 'reasoning_text';
  readonly item: 'message' | 'reasoning';
  /** The member that holds its text. */
  readonly member: 'text' | 'refusal';
  /** Further members of the part, and of its events, which have to be there though nothing is in them. */
  readonly partMembers: string;
  readonly eventMembers: string;
}

export const TEXT: PartKind = {
  type: 'output_text',
  item: 'message',
  member: 'text',
  partMembers: ',"annotations":[],"logprobs":[]',
  eventMembers: ',"logprobs":[]',
};
export const REFUSAL: PartKind = {
  type: 'refusal',
  item: 'message',
  member: 'refusal',
  partMembers: '',
  eventMembers: '',
};
export const THOUGHT: PartKind = {
  type: 'reasoning_text',
  item: 'reasoning',
  member: 'text',
  partMembers: '',
  eventMembers: '',
};

/** `text`: JSON text. */
export const partJson = ({ type, member, partMembers }: PartKind, text: string): string =>
  `{"type":"${type}","${member}":${text}${partMembers}}`;
