import { callerSpanIn, upstreamTraceFields } from './request-trace.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

describe('callerSpanIn', () => {
  it('reads ids, the sampled flag and what tracing systems noted', () => {
    expect(callerSpanIn({ traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'a=1, b=2' })).toEqual({
      traceId: TRACE,
      spanId: SPAN,
      sampled: true,
      state: 'a=1, b=2',
    });
    expect(callerSpanIn({ traceparent: `00-${TRACE}-${SPAN}-02` })).toMatchObject({ sampled: false, state: undefined });
  });

  it('reads what it knows of a later version', () => {
    expect(callerSpanIn({ traceparent: `cc-${TRACE}-${SPAN}-01-what-comes` })).toMatchObject({ traceId: TRACE });
  });

  it.each([
    ['an unknown form', 'nonsense'],
    ['version ff', `ff-${TRACE}-${SPAN}-01`],
    ['a trace of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['capitals', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['version 00 with more behind', `00-${TRACE}-${SPAN}-01-x`],
    ['two of them', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
    ['a short one', `00-${TRACE}-${SPAN}`],
  ])('takes %s for none', (_, traceparent) => {
    expect(callerSpanIn({ traceparent, tracestate: 'a=1' })).toBeUndefined();
  });

  it('finds none where there is none', () => expect(callerSpanIn({})).toBeUndefined());
});

describe('upstreamTraceFields', () => {
  const trace = { traceId: TRACE, sampled: true, serverSpanId: SPAN, upstreamSpanId: '1234567890abcdef' };

  it('names our call as the parent, and hands on what came with the caller', () => {
    const caller = { traceId: TRACE, spanId: SPAN, sampled: true, state: 'a=1' };
    expect(upstreamTraceFields({ ...trace, caller })).toEqual([
      'traceparent',
      `00-${TRACE}-1234567890abcdef-01`,
      'tracestate',
      'a=1',
    ]);
  });

  it('says so where nothing is sampled', () => {
    expect(upstreamTraceFields({ ...trace, sampled: false, caller: undefined })).toEqual([
      'traceparent',
      `00-${TRACE}-1234567890abcdef-00`,
    ]);
  });
});
