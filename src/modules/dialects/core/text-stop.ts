import { TEXT_STOP_WASM } from './text-stop-wasm.js';

const BACKSLASH = 0x5c;
/** As much of a body as is laid out for reading at once; it stays in the processor's cache. */
const WINDOW_BYTES = 65_536;

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  stop(at: number, end: number): number;
}

/** As much of it as is used: Node's types leave it to those of browsers. */
declare const WebAssembly:
  | undefined
  | {
      validate(bytes: Uint8Array): boolean;
      Module: new (bytes: Uint8Array) => object;
      Instance: new (module: object) => { readonly exports: unknown };
    };

/** Finds what ends a text, 64 bytes at a time: with instructions that JavaScript does not have. */
export class TextStop {
  private readonly memory: Uint8Array;
  /** The window: from where to where, of the body with which number. No body is held. */
  private body = 0;
  private from = 0;
  private to = 0;

  private constructor(private readonly wasm: Exports) {
    this.memory = new Uint8Array(wasm.memory.buffer);
  }

  /** null: this processor or this Node runs no WebAssembly with SIMD. */
  static make(): TextStop | null {
    if (typeof WebAssembly === 'undefined' || !WebAssembly.validate(TEXT_STOP_WASM)) return null;
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(TEXT_STOP_WASM));
    return new TextStop(exports as Exports);
  }

  /**
   * Index of the first unescaped quote from `at` on, of the first control character, of the first backslash that is more
   * than an escape of one letter or none at all, or the length. `at` is inside a string, and not escaped. `body`: a number
   * that no other body has.
   */
  find(bytes: Buffer, at: number, body: number): number {
    if (body !== this.body || at < this.from || at >= this.to) this.layOut(bytes, at, body);
    let from = at;
    for (;;) {
      const stop = this.wasm.stop(from - this.from, this.to - this.from) + this.from;
      const escaped = isEscaped(bytes, Math.min(stop, this.to), from);
      if (stop < this.to) return escaped ? stop - 1 : stop;
      if (this.to === bytes.length) return this.to;
      from = escaped ? this.to - 1 : this.to;
      this.layOut(bytes, from, body);
    }
  }

  private layOut(bytes: Buffer, from: number, body: number): void {
    this.body = body;
    this.from = from;
    this.to = Math.min(bytes.length, from + WINDOW_BYTES);
    bytes.copy(this.memory, 0, from, this.to);
  }
}

/** Whether an odd number of backslashes lies before it, of which the first is not before `from`. */
function isEscaped(bytes: Buffer, at: number, from: number): boolean {
  let first = at;
  while (first > from && bytes[first - 1] === BACKSLASH) first--;
  return ((at - first) & 1) === 1;
}
