import { readByOfficialClient } from './official-client.js';

const stream = (...data: readonly unknown[]): Buffer =>
  Buffer.from(data.map((each) => `data: ${typeof each === 'string' ? each : JSON.stringify(each)}\n\n`).join(''));

const chunk = (delta: unknown, finish_reason: string | null = null) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason }],
});

describe('readByOfficialClient', () => {
  it('accepts a well-formed stream and puts it together', async () => {
    const body = stream(chunk({ role: 'assistant', content: 'a' }), chunk({ content: 'b' }, 'stop'), '[DONE]');
    expect(await readByOfficialClient(body)).toEqual({
      verdict: 'accepted',
      messages: [{ content: 'ab', toolArguments: [] }],
    });
  });

  it('throws on an error in the stream', async () => {
    const body = stream(chunk({ role: 'assistant', content: 'a' }), { error: { message: 'the engine failed' } });
    const read = await readByOfficialClient(body);
    expect(read.verdict).toBe('thrown');
    expect(String(read.error)).toContain('the engine failed');
  });
});
