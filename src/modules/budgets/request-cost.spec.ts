import type { CanonicalRequest } from '../../common/canonical/canonical-request.js';
import { mostTokens } from './request-cost.js';

const request = (more: Partial<CanonicalRequest>): CanonicalRequest => ({
  operation: 'chat',
  model: 'm',
  stream: false,
  maxOutputTokens: undefined,
  choices: 1,
  promptBytes: 0,
  images: 0,
  ...more,
});

describe('the most tokens that a request can come to', () => {
  it.each<[string, Partial<CanonicalRequest>, number]>([
    ['prompt and its own limit', { maxOutputTokens: 200 }, 1200],
    ['all that the model holds, where it has no limit', {}, 8192],
    ['all that the model holds, where its limit is larger', { maxOutputTokens: 1_000_000 }, 8192],
    ['its limit for each answer', { maxOutputTokens: 200, choices: 4 }, 1800],
    ['room for each answer, beside its part of the prompt', { choices: 4 }, 1000 + 4 * (8192 - 250)],
    ['its prompt alone, where nothing is generated', { operation: 'embeddings' }, 1000],
    ['its prompt alone, where nothing is generated', { operation: 'rerank' }, 1000],
  ])('is %s', (_, more, tokens) => {
    expect(mostTokens(request(more), 1000, 8192)).toBe(tokens);
  });

  it('is a little more than its prompt, where that fills the model by itself', () => {
    expect(mostTokens(request({}), 9000, 8192)).toBe(9001);
  });
});
