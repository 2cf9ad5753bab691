import { renderChart } from './chart.js';

describe('renderChart', () => {
  it('draws a bar for each value and a mark for each reference, clipped to the axis', () => {
    const svg = renderChart({
      title: 'a < b & "c"',
      series: [
        { title: 'one', color: '#111111' },
        { title: 'two', color: '#222222' },
      ],
      panels: [
        {
          title: 'seconds',
          groups: [
            {
              label: 'S1',
              bars: [
                { value: 100, reference: 10 },
                { value: undefined, reference: undefined },
              ],
            },
          ],
          axis: { low: 1, high: 100, logarithmic: true },
          ticks: [1, 10, 100],
        },
      ],
    });
    expect(svg).toContain('a &lt; b &amp; &quot;c&quot;');
    // One square in the legend each, and one bar: from the axis' end to its beginning.
    expect(svg.match(/fill="#111111"/g)).toHaveLength(2);
    expect(svg.match(/fill="#222222"/g)).toHaveLength(1);
    expect(svg).toContain('height="162" fill="#111111"');
    expect(svg.match(/stroke="#000000"/g)).toHaveLength(1);
    expect(svg).not.toContain('NaN');
  });
});
