import { spentTokens, type CallEnd } from './spent-tokens.js';

const usage = { promptTokens: 20, completionTokens: 7, cachedTokens: 5, reasoningTokens: 3 };
const end = (more: Partial<CallEnd>): CallEnd => ({
  usage: undefined,
  answered: true,
  cancelled: false,
  complete: false,
  contentSeen: false,
  estimatedPromptTokens: 18,
  deliveredTokens: 0,
  ...more,
});
const delivered = { contentSeen: true, deliveredTokens: 40 };

describe('what a call came to', () => {
  it.each<[string, Partial<CallEnd>, ReturnType<typeof spentTokens>]>([
    [
      'a complete answer is what the engine counted',
      { usage, complete: true, ...delivered },
      { tokens: 27, estimated: false },
    ],
    ['a complete answer without usage is estimated', { complete: true, ...delivered }, { tokens: 58, estimated: true }],
    [
      'one that was cancelled is what was delivered',
      { cancelled: true, ...delivered },
      { tokens: 58, estimated: true },
    ],
    [
      'one that was cancelled early in its usage too',
      { usage, cancelled: true, ...delivered },
      { tokens: 60, estimated: true },
    ],
    [
      'what the engine has told so far, where that is more',
      { usage, cancelled: true, contentSeen: true, deliveredTokens: 2 },
      { tokens: 27, estimated: true },
    ],
    [
      'one that was cancelled before an answer is its prompt',
      { answered: false, cancelled: true },
      { tokens: 18, estimated: true },
    ],
    ['one that broke off is what was delivered', delivered, { tokens: 58, estimated: true }],
    ['one that failed with nothing to show is nothing', {}, { tokens: 0, estimated: false }],
    ['one that was never answered has not happened', { answered: false }, undefined],
  ])('%s', (_, more, spent) => {
    expect(spentTokens(end(more))).toEqual(spent);
  });
});
