/** What a body brings to its model, apart from data that are not text. */
export interface PromptSize {
  /** Bytes without those of images. */
  readonly textBytes: number;
  readonly images: number;
}

const DATA_URL = Buffer.from(';base64,');
const QUOTE = 0x22;

/**
 * The bytes of a checked body that are text, and the images beside them: data URLs are large, and say nothing of the
 * tokens that they become. Images that are named by an address are counted with the text.
 */
export function promptSize(body: Buffer): PromptSize {
  let images = 0;
  let imageBytes = 0;
  for (let at = body.indexOf(DATA_URL); at >= 0; at = body.indexOf(DATA_URL, at)) {
    const start = at + DATA_URL.length;
    const end = body.indexOf(QUOTE, start);
    if (end < 0) break;
    images += 1;
    imageBytes += end - start;
    at = end;
  }
  return { textBytes: body.length - imageBytes, images };
}
