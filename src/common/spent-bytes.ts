/** What is smaller is not worth the call. */
const WORTH_BYTES = 16 * 1024;

/**
 * Gives the memory of bytes back that nobody reads again: they are empty afterwards. Left to the garbage collector, the
 * bodies of a busy gateway have V8 look through its whole heap several times a second, and each of them is put into
 * pages that the system has to clear first. Bytes that share their memory with others are left as they are.
 */
export function giveBackMemory(bytes: Uint8Array): void {
  if (bytes.byteLength < WORTH_BYTES) return;
  const { buffer } = bytes;
  if (bytes.byteLength === buffer.byteLength && 'transfer' in buffer) buffer.transfer(0);
}
