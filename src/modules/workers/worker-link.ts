import type { Line } from './line.js';

/** A worker's tie to the primary and, through it, to its siblings. */
export interface Tie {
  /** Which worker this is, from 1, and of how many. */
  readonly index: number;
  readonly workers: number;
  readonly line: Line;
}

/** Which of the gateway's processes this one is. */
export class WorkerLink {
  /** undefined: the only one. */
  constructor(readonly tie?: Tie) {}
}
