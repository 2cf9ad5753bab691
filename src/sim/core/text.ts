import type { Prng } from './prng.js';

const WORDS: readonly [string, ...string[]] = [
  'amber',
  'basin',
  'cedar',
  'delta',
  'ember',
  'fjord',
  'grove',
  'harbor',
  'inlet',
  'juniper',
  'kelp',
  'lantern',
  'meadow',
  'north',
  'orchard',
  'pebble',
  'quartz',
  'river',
  'summit',
  'timber',
  'upland',
  'valley',
  'willow',
  'yarrow',
  'across',
  'after',
  'beneath',
  'between',
  'carries',
  'drifts',
  'every',
  'finds',
  'gathers',
  'holds',
  'into',
  'keeps',
  'leads',
  'moves',
  'never',
  'often',
  'past',
  'quietly',
  'rests',
  'slowly',
  'through',
  'under',
  'waits',
  'with',
];

/** One word a token, in sentences of some length: each token carries the blank in front of it, as real tokenizers do. */
export function wordTokens(prng: Prng, count: number): string[] {
  const tokens: string[] = [];
  let leftInSentence = 0;
  for (let at = 0; at < count; at += 1) {
    const startsSentence = leftInSentence === 0;
    if (startsSentence) leftInSentence = prng.between(5, 12);
    leftInSentence -= 1;
    const word = prng.pick(WORDS);
    const shown = startsSentence ? word.charAt(0).toUpperCase() + word.slice(1) : word;
    tokens.push(`${at === 0 ? '' : ' '}${shown}${leftInSentence === 0 ? '.' : ''}`);
  }
  return tokens;
}

/** Cuts a text into fragments of `size` characters, never through a surrogate pair: tokens of JSON. */
export function fragments(text: string, size: number): string[] {
  const characters = Array.from(text);
  const cut: string[] = [];
  for (let at = 0; at < characters.length; at += size) cut.push(characters.slice(at, at + size).join(''));
  return cut;
}
