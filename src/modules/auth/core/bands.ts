import type { BandNames } from '../../../common/band-names.js';

/** The lowest band there is: what a senseless wish gets. */
const lowestOf = (bands: BandNames): string => bands.all[bands.all.length - 1] ?? bands.defaultBand;

/** A band as somebody has named it: unknown, repeated or not a text, it is the lowest. */
export function namedBand(asked: unknown, bands: BandNames): string {
  return typeof asked === 'string' && bands.all.includes(asked) ? asked : lowestOf(bands);
}

/** The lower of the two, which are names of bands. */
export function lowerBand(one: string, other: string, bands: BandNames): string {
  return bands.all.indexOf(one) > bands.all.indexOf(other) ? one : other;
}
