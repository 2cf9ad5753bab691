/** What is smaller is not worth the call. */
const WORTH_BYTES = 16 * 1024;

/**
 * Gives the memory of bytes back that nobody reads again: they are empty afterwards. Left to the garbage collector, the
 * bodies of a busy gateway have V8 look through its whole heap several times a second, and each of them is put into
 * pages that the system has to clear first. Bytes that share their memory with others are left as they are.
 */
export function giveBackMemory({ byteLength, buffer }: Uint8Array): void {
  if (byteLength >= WORTH_BYTES && byteLength === buffer.byteLength && 'transfer' in buffer) buffer.transfer(0);
}
