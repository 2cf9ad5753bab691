import { checkEngineHead } from './engine-head.js';

const codeOf = (status: number): unknown => {
  try {
    checkEngineHead(status, {});
    return 'accepted';
  } catch (error) {
    return (error as { code: unknown }).code;
  }
};

describe('checkEngineHead', () => {
  it.each([
    [199, 'upstream-invalid'],
    [200, 'accepted'],
    [204, 'upstream-invalid'],
    [302, 'upstream-refused-us'],
    [401, 'upstream-refused-us'],
    [403, 'upstream-refused-us'],
    [407, 'upstream-refused-us'],
    [422, 'accepted'],
    [599, 'accepted'],
    [600, 'upstream-invalid'],
    [999, 'upstream-invalid'],
  ])('status %d of an engine is %s', (status, outcome) => {
    expect(codeOf(status)).toBe(outcome);
  });
});
