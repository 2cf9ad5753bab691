import fc from 'fast-check';

const LITERALS = [
  '\r\n',
  '\r',
  '\n',
  '\0',
  ' ',
  ':',
  '\t',
  '0',
  '-1',
  '0x',
  '{',
  '"',
  '\\u',
  '%00',
  '%2f',
  '..',
  ';',
  ',',
];
const FIELDS = ['content-length: 3\r\n', 'transfer-encoding: chunked\r\n', 'host: b\r\n'];

/** Bytes to put where they do not belong. */
const noise: fc.Arbitrary<Buffer> = fc.oneof(
  fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
  fc.constantFrom(...LITERALS).map((text) => Buffer.from(text)),
  fc.constantFrom(...FIELDS).map((text) => Buffer.from(text)),
);

/** One place of a message that is not as it was. */
export const change = fc.record({ at: fc.nat(400), drop: fc.nat(4), put: noise });

/** The bytes with that change made, wherever that place is in them. */
export function changed(bytes: Buffer, { at, drop, put }: { at: number; drop: number; put: Buffer }): Buffer {
  const place = at % (bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, place), put, bytes.subarray(place + drop)]);
}

/** Messages that are almost sound. */
export const mutated = (sound: readonly Buffer[]): fc.Arbitrary<Buffer> =>
  fc
    .tuple(fc.constantFrom(...sound), fc.array(change, { minLength: 1, maxLength: 4 }))
    .map(([bytes, changes]) => changes.reduce(changed, bytes));

/** Messages that are nothing. */
export const randomBytes = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
