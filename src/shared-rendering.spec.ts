import { sharedRendering } from './shared-rendering.js';

describe('sharedRendering', () => {
  it('renders once for all who ask at once, and again for those who ask later', async () => {
    let renderings = 0;
    const render = sharedRendering(() => Promise.resolve(String((renderings += 1))));
    expect(await Promise.all([render(), render(), render()])).toEqual(['1', '1', '1']);
    expect(await render()).toBe('2');
  });

  it('tells all who asked that it has failed, and tries again', async () => {
    let fails = true;
    const render = sharedRendering(() => (fails ? Promise.reject(new Error('no')) : Promise.resolve('page')));
    const outcomes = await Promise.allSettled([render(), render()]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    fails = false;
    expect(await render()).toBe('page');
  });
});
