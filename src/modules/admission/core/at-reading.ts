/** What was held when all of it was last known: the share of the free places is reckoned from that. */
export interface AtReading {
  /** Places that this gateway had, and that all had as far as was known. */
  readonly own: number;
  readonly occupied: number;
  /** The number of the reading: all gateways count alike. */
  readonly turn: number;
}

/** So many more are held, and so many fewer free. */
export const grownBy = ({ own, occupied, turn }: AtReading, grown: number): AtReading =>
  grown <= 0 ? { own, occupied, turn } : { own: own + grown, occupied: occupied + grown, turn };

/** What is known beside a reading. */
export interface ReadingTerms {
  /** The number of the reading, as all gateways count. */
  readonly turn: number;
  /** What others have is known as it was at the reading: what they give back after it counts as given back. */
  readonly live: boolean;
  /** There are others, and they do not tell what they have. */
  readonly untold: boolean;
}

/** There are no others. */
export const ALONE: ReadingTerms = { turn: 0, live: false, untold: false };
