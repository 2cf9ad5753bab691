import { hashText } from './prng.js';

/** Names a block of a prompt and all that stands before it: equal keys, equal prefixes. */
export type PrefixKey = string;

/** The blocks that one sequence holds. The first of them may be shared with others that have the same prefix. */
export interface Holding {
  blocks: number;
  /** Keys of the leading blocks that can be found again by others, in order. */
  readonly keyed: PrefixKey[];
  /** False once a block turned out to exist already under its key: from there on nothing more can be named. */
  keyable: boolean;
}

export const emptyHolding = (): Holding => ({ blocks: 0, keyed: [], keyable: true });

/**
 * The engine's KV memory, in blocks. Blocks that nobody holds but that still have a key wait in the order of their last
 * use, and count as free: they are given up when room is needed.
 */
export class KvCache {
  private readonly holders = new Map<PrefixKey, number>();
  /** Keys without a holder; the map's order is the order of their last use. */
  private readonly idle = new Map<PrefixKey, true>();
  private held = 0;

  constructor(readonly capacityBlocks: number) {}

  get usedBlocks(): number {
    return this.held;
  }

  get cachedBlocks(): number {
    return this.idle.size;
  }

  /** How many leading blocks of a prompt are here already. */
  hits(keys: readonly PrefixKey[]): number {
    const missing = keys.findIndex((key) => !this.holders.has(key));
    return missing === -1 ? keys.length : missing;
  }

  /** Takes the given shared blocks and fresh ones up to `blocks`; all or nothing. undefined: there is no room. */
  open(shared: readonly PrefixKey[], blocks: number): Holding | undefined {
    const woken = shared.filter((key) => this.idle.has(key)).length;
    if (this.held + woken + blocks - shared.length > this.capacityBlocks) return undefined;
    for (const key of shared) {
      this.idle.delete(key);
      this.holders.set(key, (this.holders.get(key) ?? 0) + 1);
    }
    this.held += woken;
    const holding: Holding = { blocks: shared.length, keyed: [...shared], keyable: true };
    this.grow(holding, blocks);
    return holding;
  }

  /** Makes the holding at least `blocks` large; false, and nothing changed, where there is no room. */
  grow(holding: Holding, blocks: number): boolean {
    const fresh = Math.max(0, blocks - holding.blocks);
    if (this.held + fresh > this.capacityBlocks) return false;
    this.held += fresh;
    holding.blocks += fresh;
    for (const key of this.idle.keys()) {
      if (this.held + this.idle.size <= this.capacityBlocks) break;
      this.idle.delete(key);
      this.holders.delete(key);
    }
    return true;
  }

  /** Gives the first `full` blocks of the holding their keys, so that others find them. */
  name(holding: Holding, keys: readonly PrefixKey[], full: number): void {
    while (holding.keyable && holding.keyed.length < full) {
      const key = keys[holding.keyed.length];
      if (key === undefined || this.holders.has(key)) {
        holding.keyable = false;
        return;
      }
      this.holders.set(key, 1);
      holding.keyed.push(key);
    }
  }

  /** Gives the blocks back. The end of a prefix is forgotten before its beginning, which is of use to more prompts. */
  release(holding: Holding): void {
    this.held -= holding.blocks - holding.keyed.length;
    for (const key of holding.keyed.toReversed()) {
      const left = (this.holders.get(key) ?? 1) - 1;
      this.holders.set(key, left);
      if (left > 0) continue;
      this.idle.set(key, true);
      this.held -= 1;
    }
    holding.blocks = 0;
    holding.keyed.length = 0;
  }
}

/** Keys for every full block of a prompt, each covering all the text before it. */
export function prefixKeysOf(prompt: string, blockCharacters: number): PrefixKey[] {
  const keys: PrefixKey[] = [];
  let [low, high] = [0, 1];
  for (let at = 0; at + blockCharacters <= prompt.length; at += blockCharacters) {
    const block = prompt.slice(at, at + blockCharacters);
    [low, high] = [hashText(block, low), hashText(block, high)];
    keys.push(`${low.toString(36)}.${high.toString(36)}`);
  }
  return keys;
}
