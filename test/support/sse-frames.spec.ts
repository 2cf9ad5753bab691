import { readFrames, SseFrameReader } from './sse-frames.js';

const framesOf = (text: string) => readFrames(Buffer.from(text)).frames;

describe('SseFrameReader', () => {
  it('parses JSON data and leaves other data as text', () => {
    expect(framesOf('event: a\ndata: {"x":1}\n\ndata: [DONE]\n\n')).toEqual([
      { event: 'a', data: { x: 1 } },
      { data: '[DONE]' },
    ]);
  });

  it('leaves out comments, pings and other fields', () => {
    const pings = 'event: ping\ndata: {"type":"ping"}\n\ndata: {"type":"ping"}\n\n';
    expect(framesOf(`: keep-alive\n\n${pings}id: 1\nretry: 5\n\nid: 2\ndata: 1\n\n`)).toEqual([{ data: 1 }]);
  });

  it.each(['\n', '\r\n', '\r'])('takes %j as the end of a line', (end) => {
    expect(framesOf(['data: [1,', 'data: 2]', '', 'data:2', '', ''].join(end))).toEqual([
      { data: [1, 2] },
      { data: 2 },
    ]);
  });

  it('shows an event without data, since official clients break on it', () => {
    expect(framesOf('event: a\n\ndata:\n\n')).toEqual([{ event: 'a', data: '' }, { data: '' }]);
  });

  it('reads the same from every cut of the bytes', () => {
    const bytes = Buffer.from('\uFEFFdata: {"t":"潮🌊"}\r\n\r\nevent: e\r\ndata: 2\r\n\r\n');
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const reader = new SseFrameReader();
      const frames = [...reader.push(bytes.subarray(0, cut)), ...reader.push(bytes.subarray(cut))];
      expect(frames).toEqual([{ data: { t: '潮🌊' } }, { event: 'e', data: 2 }]);
    }
  });

  it('keeps back an event that no blank line ended', () => {
    expect(readFrames(Buffer.from('data: 1\n\ndata: 2\n'))).toEqual({ frames: [{ data: 1 }], rest: '2' });
    expect(readFrames(Buffer.from('data: 1\n\ndat'))).toEqual({ frames: [{ data: 1 }], rest: 'dat' });
    expect(readFrames(Buffer.from('data: 1\r\r')).rest).toBe('');
  });
});
