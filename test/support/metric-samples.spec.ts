import { findSample, parseSamples } from './metric-samples.js';

const PAGE = `# HELP a x
# TYPE a counter
a{route="/v1",status="200"} 2
a{status="500",route="/v1 \\"q\\" {x}"} 1
b 0.5
c_bucket{le="+Inf"} +Inf
`;

describe('findSample', () => {
  it('sums the series with the labels asked for', () => {
    expect(findSample(PAGE, 'a')).toBe(3);
    expect(findSample(PAGE, 'a', { status: '200' })).toBe(2);
    expect(findSample(PAGE, 'a', { route: '/v1 "q" {x}' })).toBe(1);
    expect(findSample(PAGE, 'b')).toBe(0.5);
    expect(findSample(PAGE, 'c_bucket')).toBe(Infinity);
  });

  it('tells none from zero', () => {
    expect(findSample(PAGE, 'a', { status: '404' })).toBeUndefined();
    expect(findSample(PAGE, 'd')).toBeUndefined();
  });

  it('refuses a line that is no sample', () => {
    expect(() => parseSamples('a{b="c" 1')).toThrow('not a sample');
  });
});
