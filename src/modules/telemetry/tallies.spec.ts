import { Registry } from 'prom-client';
import { CounterTally, HistogramTally, registerTally } from './tallies.js';

describe('tallies', () => {
  it('shows a counter in the exposition format, labels escaped', async () => {
    const registry = new Registry();
    const tally = registerTally(registry, new CounterTally('seen_total', 'Seen', ['route', 'status']));
    tally.cell('/v1/"x"', '200').add(2);
    tally.cell('/v1/"x"', '200').add(1);
    expect(await registry.metrics()).toBe(
      '# HELP seen_total Seen\n# TYPE seen_total counter\nseen_total{route="/v1/\\"x\\"",status="200"} 3\n',
    );
  });

  it('shows cumulative buckets, sum and count of a histogram', async () => {
    const registry = new Registry();
    const tally = registerTally(registry, new HistogramTally('took_seconds', 'Took', ['route'], [0.1, 1]));
    for (const value of [0.05, 0.1, 0.5, 7]) tally.cell('a').observe(value);
    expect(await registry.metrics()).toBe(
      [
        '# HELP took_seconds Took',
        '# TYPE took_seconds histogram',
        'took_seconds_bucket{route="a",le="0.1"} 2',
        'took_seconds_bucket{route="a",le="1"} 3',
        'took_seconds_bucket{route="a",le="+Inf"} 4',
        'took_seconds_sum{route="a"} 7.65',
        'took_seconds_count{route="a"} 4',
        '',
      ].join('\n'),
    );
  });
});
