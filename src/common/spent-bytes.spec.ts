import { giveBackMemory } from './spent-bytes.js';

const KIB = 1024;

it('empties bytes that have their memory to themselves', () => {
  const bytes = Buffer.allocUnsafeSlow(300 * KIB);
  giveBackMemory(bytes);
  expect(bytes).toHaveLength(0);
});

it('leaves bytes alone whose memory others see, too', () => {
  const whole = Buffer.alloc(300 * KIB, 'a');
  for (const part of [whole.subarray(1), whole.subarray(0, -1)]) giveBackMemory(part);
  expect(String(whole)).toBe('a'.repeat(300 * KIB));
  const shared = new Uint8Array(new SharedArrayBuffer(300 * KIB));
  giveBackMemory(shared);
  expect(shared).toHaveLength(300 * KIB);
});

it('leaves bytes alone that are not worth it', () => {
  const bytes = Buffer.allocUnsafeSlow(KIB);
  giveBackMemory(bytes);
  giveBackMemory(Buffer.alloc(0));
  expect(bytes).toHaveLength(KIB);
});
