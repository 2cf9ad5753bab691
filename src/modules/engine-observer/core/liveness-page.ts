import type { PageHead, PageReader, PageVerdict } from './page-reader.js';

/** Lists of loaded models are far smaller. */
const MAX_BODY_BYTES = 256 * 1024;

/**
 * Reads the answer of an engine without gauges, of which only life is asked. That it has no such page (404) proves it
 * as well.
 */
export class LivenessPage implements PageReader {
  readonly statuses = [200, 404];
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;

  push(chunk: Uint8Array): boolean {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_BODY_BYTES) return false;
    this.#chunks.push(chunk);
    return true;
  }

  finish(head: PageHead): PageVerdict {
    if (head.status === 200 && this.#bytes > MAX_BODY_BYTES) {
      return { ok: false, fault: 'oversize', detail: `the answer has more than ${MAX_BODY_BYTES} bytes`, skipped: {} };
    }
    if (head.status === 200 && !isJsonObject(Buffer.concat(this.#chunks).toString())) {
      return { ok: false, fault: 'bad_content', detail: 'the answer is no JSON object', skipped: {} };
    }
    return { ok: true, reading: { gauges: {}, bootMark: undefined }, gaps: [], skipped: {} };
  }
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
