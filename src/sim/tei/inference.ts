import { hashText, Prng } from '../core/prng.js';

/** A unit vector that depends on the text alone. */
export function embed(text: string, dimensions: number): Float32Array {
  const prng = new Prng(hashText(text));
  const vector = Float32Array.from({ length: dimensions }, () => prng.next() - 0.5);
  const norm = Math.hypot(...vector);
  return vector.map((value) => value / norm);
}

/** Little-endian float32, which is what every machine that runs Node has. */
export const base64Of = (vector: Float32Array): string =>
  Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64');

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** How well a text answers a query, as a logit: the share of the query's words in it, and a little of its own. */
export function relevance(query: string, text: string): number {
  const words = wordsOf(query);
  const present = new Set(wordsOf(text));
  const share = words.filter((word) => present.has(word)).length / Math.max(1, words.length);
  return share * 8 - 4 + new Prng(hashText(text, hashText(query))).next() * 0.1;
}

export const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit));
