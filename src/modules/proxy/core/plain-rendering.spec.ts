import { PlainRendering } from './plain-rendering.js';

describe('PlainRendering', () => {
  it('takes a status outside of the classes of HTTP for no answer', () => {
    for (const status of [600, 999]) {
      const rendering = new PlainRendering(undefined);
      expect(() => rendering.begin(status, {})).toThrow(expect.objectContaining({ code: 'upstream-invalid' }));
    }
  });
});
