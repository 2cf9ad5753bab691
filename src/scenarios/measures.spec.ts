import type { Outcome } from './job.js';
import { figuresOf, jainIndex, quantile } from './measures.js';
import type { RunResult } from './world.js';

const outcome = (change: Partial<Outcome>, tenant = 'a'): Outcome => ({
  job: { load: 'chat', tenant, band: 1, promptTokens: 100, outputTokens: 60 },
  arrivedAt: 0,
  firstAt: 1_000,
  endedAt: 2_000,
  how: 'served',
  refusal: undefined,
  retryAfterMs: undefined,
  queuedMs: 0,
  ...change,
});

const run = (outcomes: readonly Outcome[]): RunResult => ({
  outcomes,
  lengthMs: 60_000,
  unended: 0,
  unreturned: 0,
  peakRunning: 1,
  mostWaitingInside: 0,
  preemptions: 0,
  mostHeld: 1,
  aboveCeiling: 0,
  idleSeconds: 0,
  idleBesideLargeSeconds: 0,
});

describe('measures', () => {
  it('takes a quantile from the samples themselves', () => {
    const samples = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect([quantile(samples, 0.5), quantile(samples, 0.99), quantile(samples, 1)]).toEqual([50, 99, 100]);
    expect(quantile([], 0.5)).toBeNaN();
  });

  it('knows even from uneven shares', () => {
    expect(jainIndex([3, 3, 3, 3])).toBe(1);
    expect(jainIndex([8, 0, 0, 0])).toBe(0.25);
  });

  it('counts output within the time of the load, and times only what was served', () => {
    const figures = figuresOf([
      run([outcome({}), outcome({ endedAt: 61_000 }), outcome({ how: 'refused', firstAt: undefined })]),
      run([outcome({ firstAt: 3_000 }, 'b')]),
    ]);
    expect(figures.outputPerSecond).toBe(1);
    expect(figures.servedPerMinute).toBe(1);
    const chat = figures.loads.get('chat');
    expect(chat).toMatchObject({ count: 4, ttftP50: 1, ttftP99: 3, refusedShare: 0.25, failed: 0 });
  });
});
