import type { CanonicalRequest } from '../../../common/canonical/canonical-request.js';
import { TokenEstimates } from './token-estimates.js';

const request = (fields: Partial<CanonicalRequest> = {}): CanonicalRequest => ({
  operation: 'chat',
  model: 'reasoning',
  stream: true,
  maxOutputTokens: undefined,
  choices: 1,
  promptBytes: 3600,
  images: 0,
  ...fields,
});
const usage = (promptTokens: number, completionTokens: number) => ({
  promptTokens,
  completionTokens,
  cachedTokens: 0,
  reasoningTokens: 0,
});

describe('TokenEstimates', () => {
  it('begins with what text usually takes', () => {
    expect(new TokenEstimates().estimate(request(), 'a', 16_384)).toEqual({ promptTokens: 1000, outputTokens: 450 });
  });

  it('never expects more output than the caller allows or the context holds', () => {
    const estimates = new TokenEstimates();
    expect(estimates.estimate(request({ maxOutputTokens: 20 }), 'a', 16_384).outputTokens).toBe(20);
    expect(estimates.estimate(request(), 'a', 1100).outputTokens).toBe(100);
  });

  it('counts an image as an image, whatever its bytes', () => {
    expect(new TokenEstimates().estimate(request({ promptBytes: 360, images: 2 }), 'a', 16_384).promptTokens).toBe(
      2100,
    );
  });

  it('learns the ratio of a model and the habit of a tenant from what the engine counts', () => {
    const estimates = new TokenEstimates();
    for (let i = 0; i < 200; i += 1) estimates.learn(request(), 'a', usage(1800, 1000));
    const learned = estimates.estimate(request(), 'a', 16_384);
    expect(learned.promptTokens).toBeGreaterThan(1790);
    expect(learned.promptTokens).toBeLessThanOrEqual(1801);
    expect(learned.outputTokens).toBeGreaterThan(1490);
    expect(estimates.estimate(request(), 'b', 16_384).outputTokens).toBe(450);
    expect(estimates.estimate(request({ model: 'other' }), 'b', 16_384).promptTokens).toBe(1000);
  });

  it('believes no engine that counts nonsense', () => {
    const estimates = new TokenEstimates();
    for (let i = 0; i < 500; i += 1) estimates.learn(request(), 'a', usage(1, 1));
    expect(estimates.bytesPerToken('reasoning')).toBeLessThanOrEqual(8);
    for (let i = 0; i < 500; i += 1) estimates.learn(request(), 'a', usage(1e9, 1));
    expect(estimates.bytesPerToken('reasoning')).toBeGreaterThanOrEqual(1);
  });

  it('forgets tenants before it grows without end', () => {
    const estimates = new TokenEstimates();
    for (let i = 0; i < 6000; i += 1) estimates.learn(request(), `t${i}`, usage(1000, 10));
    expect(estimates.estimate(request(), 't0', 16_384).outputTokens).toBe(450);
    expect(estimates.estimate(request(), 't5999', 16_384).outputTokens).toBeLessThan(450);
  });
});
