import { giveBackMemory } from '../../../common/spent-bytes.js';

/** A piece that is smaller costs more to keep than it holds, and comes from a client that sends a byte a chunk. */
const SMALL_BYTES = 1024;
const BLOCK_BYTES = 16 * 1024;
/** A declared body that is larger gets its place at once: joined from pieces it would be there twice for a moment. */
const LARGE_BYTES = 256 * 1024;
const NOTHING = Buffer.alloc(0);

/** The pieces of a body as they arrive. What they take is in proportion to their bytes, however many they are. */
export class BodyParts {
  #parts: Buffer[] = [];
  /** Where pieces are copied together, and how much of it is filled. */
  #block = NOTHING;
  #filledBytes = 0;

  /**
   * `handedOver`: nobody but this reads a piece once it has been added, and the memory of one that has been copied is
   * given back. undici does: it goes on reading the bytes of which it has told a part.
   */
  constructor(
    declaredBytes: number,
    private readonly handedOver: boolean,
  ) {
    // The system gives memory only as it is filled: a mere claim holds none.
    if (declaredBytes >= LARGE_BYTES) this.#block = Buffer.allocUnsafeSlow(declaredBytes);
  }

  add(part: Buffer): void {
    if (part.length <= this.#block.length - this.#filledBytes) return this.#copy(part);
    // A small body is mostly one piece: there is nothing to put it together with.
    if (part.length >= SMALL_BYTES || (this.#parts.length === 0 && this.#filledBytes === 0)) {
      this.#closeBlock();
      this.#parts.push(part);
      return;
    }
    this.#closeBlock();
    this.#block = Buffer.allocUnsafe(BLOCK_BYTES);
    this.#copy(part);
  }

  /** All of them as one. */
  joined(): Buffer {
    this.#closeBlock();
    const [first = NOTHING] = this.#parts;
    if (this.#parts.length === 1) return first;
    const whole = Buffer.concat(this.#parts);
    if (this.handedOver) this.#parts.forEach(giveBackMemory);
    this.#parts = [whole];
    return whole;
  }

  #copy(part: Buffer): void {
    part.copy(this.#block, this.#filledBytes);
    this.#filledBytes += part.length;
    if (this.handedOver) giveBackMemory(part);
  }

  #closeBlock(): void {
    if (this.#filledBytes > 0) this.#parts.push(this.#block.subarray(0, this.#filledBytes));
    this.#block = NOTHING;
    this.#filledBytes = 0;
  }
}
