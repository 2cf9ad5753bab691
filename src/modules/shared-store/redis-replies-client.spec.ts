import { outsideOfReplies } from './redis-replies-client.js';

describe('outsideOfReplies', () => {
  it('calls the listener later, in order, so that its faults are not taken for those of a reply', async () => {
    const heard: string[] = [];
    const listener = outsideOfReplies((channel: string, message: string) => heard.push(`${channel} ${message}`));
    listener('a', '1');
    listener('b', '2');
    expect(heard).toEqual([]);
    await new Promise(setImmediate);
    expect(heard).toEqual(['a 1', 'b 2']);
  });
});
