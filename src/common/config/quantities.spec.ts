import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { Optional } from './field.js';
import { DurationMs, inLargestSize, inLargestUnit, PositiveNumber, SizeBytes, Whole } from './quantities.js';

class Sample {
  @Optional()
  @DurationMs()
  readonly waitMs?: number;

  @Optional()
  @DurationMs({ zero: true, maxMs: 60_000 })
  readonly graceMs?: number;

  @Optional()
  @SizeBytes()
  readonly bodyBytes?: number;

  @Optional()
  @Whole(1)
  readonly count?: number;

  @Optional()
  @PositiveNumber({ max: 1 })
  readonly share?: number;
}

/** What a key of the file becomes, or `refused`. */
function read(key: string, raw: unknown): unknown {
  const options = { excludeExtraneousValues: true, exposeUnsetFields: false };
  const sample = plainToInstance(Sample, { [key]: raw }, options);
  return validateSync(sample).length > 0 ? 'refused' : Object.values(sample)[0];
}

it.each([
  ['wait', '1ms', 1],
  ['wait', '10s', 10_000],
  ['wait', '1.1s', 1_100],
  ['wait', '0.5h', 1_800_000],
  ['wait', '5m', 300_000],
  ['wait', '0.0001ms', 1],
  ['wait', '596h', 2_145_600_000],
  ['grace', '0s', 0],
  ['grace', '60s', 60_000],
  ['body', '1B', 1],
  ['body', '1048576B', 1_048_576],
  ['body', '0.3KiB', 307],
  ['body', '1.5MiB', 1_572_864],
  ['count', 1, 1],
  ['share', 1, 1],
  ['share', 0.01, 0.01],
])('%s: %s is %d', (key, raw, value) => {
  expect(read(key, raw)).toBe(value);
});

it.each([
  ['wait', '0s'], ['wait', '0.0h'], ['wait', '10'], ['wait', 10_000], ['wait', '-1s'], ['wait', '1 s'], ['wait', '1S'], ['wait', '1d'],
  ['wait', '.5s'], ['wait', '1e3s'], ['wait', '597h'], ['wait', '1s\n'], ['wait', null], ['wait', ['1s']], ['grace', '61s'],
  ['grace', '-0s'], ['body', '0B'], ['body', '1.5B'], ['body', '1KB'], ['body', '1kib'], ['body', 1_024], ['body', `${'9'.repeat(20)}B`],
  ['count', 0], ['count', 1.5], ['count', '1'], ['count', Infinity], ['count', 2 ** 53], ['share', 0], ['share', 1.01], ['share', NaN],
])('%s: %j is refused', (key, raw) => {
  expect(read(key, raw)).toBe('refused');
}); // prettier-ignore

it('writes quantities in the largest unit that loses nothing', () => {
  expect([0, 1, 1_500, 60_000, 5_400_000, 7_200_000].map(inLargestUnit)).toEqual([
    '0ms',
    '1ms',
    '1500ms',
    '1m',
    '90m',
    '2h',
  ]);
  expect([1, 1_500, 65_536, 4_194_304].map(inLargestSize)).toEqual(['1B', '1500B', '64KiB', '4MiB']);
});
