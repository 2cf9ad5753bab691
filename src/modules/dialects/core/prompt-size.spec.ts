import { promptSize } from './prompt-size.js';

const bodyOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const image = (bytes: number) => ({
  type: 'image_url',
  image_url: { url: `data:image/png;base64,${'A'.repeat(bytes)}` },
});

describe('promptSize', () => {
  it('counts the whole of a body that is text', () => {
    const body = bodyOf({ messages: [{ role: 'user', content: 'hi' }] });
    expect(promptSize(body)).toEqual({ textBytes: body.length, images: 0 });
  });

  it('leaves the bytes of images out, and counts them', () => {
    const body = bodyOf({
      messages: [{ role: 'user', content: [image(5000), { type: 'text', text: 'what?' }, image(70)] }],
    });
    expect(promptSize(body)).toEqual({ textBytes: body.length - 5070, images: 2 });
  });

  it('comes to an end on a text that only mentions one', () => {
    const body = Buffer.from('{"a":";base64,"}');
    expect(promptSize(body)).toEqual({ textBytes: body.length, images: 1 });
  });
});
