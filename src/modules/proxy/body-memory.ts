import { constrainedMemory } from 'node:process';
import { totalmem } from 'node:os';

/** A quarter of what this process may use, by its cgroup or the machine. */
export const defaultBodyMemoryBytes = (): number => {
  const limit = constrainedMemory();
  return Math.floor(Math.min(limit > 0 ? limit : Infinity, totalmem()) / 4);
};

/** One budget for all request bodies that are held at a time, however many clients send them. */
export class BodyMemory {
  #heldBytes = 0;

  constructor(private readonly limitBytes: number) {}

  /** Takes `bytes` if they fit; a body that is larger than the whole budget passes only when nothing else is held. */
  take(bytes: number): boolean {
    if (this.#heldBytes > 0 && this.#heldBytes + bytes > this.limitBytes) return false;
    this.#heldBytes += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#heldBytes -= bytes;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }
}
