import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../common/clock.js';
import { GatewayProblem } from '../../common/problem/gateway-problem.js';
import type { BodyMemory } from './body-memory.js';
import { BodyParts } from './core/body-parts.js';
import { bodyTooLarge, declaredLength } from './core/body-checks.js';
import { ClientGone } from './client-gone.js';

export interface BodyLimits {
  readonly limitBytes: number;
  readonly timeoutMs: number;
}

/** A body and what it holds of the common budget: whoever has it gives that back. */
export interface HeldBody {
  readonly bytes: Buffer;
  readonly heldBytes: number;
}

const EMPTY = Buffer.alloc(0);
/**
 * A body in chunks of a few bytes costs a thousand times what others cost, and the event loop stands still over it.
 * So many pieces are free; from then on they hold so much on average, or the body is refused.
 */
const FREE_PIECES = 4096;
const LEAST_AVERAGE_BYTES = 64;

const memoryExhausted = (): GatewayProblem =>
  new GatewayProblem('memory-exhausted', {
    detail: 'Too many request bodies are being held: the gateway is overloaded.',
    retryAfterSeconds: 5,
    closeConnection: true,
  });

const tooManyPieces = (): GatewayProblem =>
  new GatewayProblem('invalid-body', { detail: 'The body comes in too many too small chunks.', closeConnection: true });

/**
 * Reads a request's body into memory, within its cap, its time and the budget that all bodies share. Rejects with a
 * GatewayProblem (413, 408, 503) or ClientGone, and then holds nothing.
 */
export function readBody(
  request: IncomingMessage,
  memory: BodyMemory,
  limits: BodyLimits,
  clock: Clock,
): Promise<HeldBody> {
  const declared = declaredLength(request.headers, limits.limitBytes);
  if (declared === undefined && request.headers['transfer-encoding'] === undefined) {
    return Promise.resolve({ bytes: EMPTY, heldBytes: 0 });
  }
  if (!memory.take(declared ?? 0)) throw memoryExhausted();
  return new Promise<HeldBody>((resolve, reject) => {
    const upload = new Upload(declared ?? 0, memory, limits, resolve, reject);
    upload.start(request, clock);
  });
}

/**
 * A body of declared length that has come already, as small ones have that were sent with their head: it is taken
 * without a listener and without a timer. undefined: it has to be waited for. Throws as `readBody` rejects.
 */
export function bodyAtHand(request: IncomingMessage, memory: BodyMemory, limitBytes: number): HeldBody | undefined {
  const declared = declaredLength(request.headers, limitBytes);
  if (declared === undefined || declared === 0 || request.readableLength !== declared) return undefined;
  if (!memory.take(declared)) throw memoryExhausted();
  const bytes = request.read() as Buffer | null;
  // Its end is still to be read, or Node would not take the request for consumed.
  request.resume();
  return { bytes: bytes ?? EMPTY, heldBytes: declared };
}

/** One body on its way in. */
class Upload {
  #parts: BodyParts;
  #receivedBytes = 0;
  #pieces = 0;
  #settled = false;

  constructor(
    private heldBytes: number,
    private readonly memory: BodyMemory,
    private readonly limits: BodyLimits,
    private readonly resolve: (body: HeldBody) => void,
    private readonly reject: (error: Error) => void,
  ) {
    this.#parts = new BodyParts(heldBytes, true);
  }

  start(request: IncomingMessage, clock: Clock): void {
    const timer = clock.after(this.limits.timeoutMs, () => this.#fail(request, this.#late()));
    request.on('data', (part: Buffer) => this.#take(request, part));
    // None of these comes twice, and a listener that removes itself costs more than one that stays.
    request.on('end', () => {
      timer.cancel();
      this.#finish();
    });
    const left = (): void => {
      timer.cancel();
      if (!this.#settled) this.#fail(request, new ClientGone());
    };
    request.on('close', left);
    request.on('error', left);
  }

  #take(request: IncomingMessage, part: Buffer): void {
    if (this.#settled) return;
    this.#receivedBytes += part.length;
    if (this.#receivedBytes > this.limits.limitBytes) return this.#fail(request, bodyTooLarge(this.limits.limitBytes));
    this.#pieces += 1;
    if (this.#pieces > FREE_PIECES + this.#receivedBytes / LEAST_AVERAGE_BYTES)
      return this.#fail(request, tooManyPieces());
    const more = this.#receivedBytes - this.heldBytes;
    if (more > 0) {
      if (!this.memory.take(more)) return this.#fail(request, memoryExhausted());
      this.heldBytes += more;
    }
    this.#parts.add(part);
  }

  #finish(): void {
    if (this.#settled) return;
    this.#settled = true;
    this.resolve({ bytes: this.#parts.joined(), heldBytes: this.heldBytes });
  }

  #fail(request: IncomingMessage, error: Error): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#parts = new BodyParts(0, true);
    this.memory.giveBack(this.heldBytes);
    request.pause();
    this.reject(error);
  }

  #late(): GatewayProblem {
    return new GatewayProblem('body-timeout', {
      detail: `The body did not arrive within ${this.limits.timeoutMs / 1000} s (timeout).`,
      closeConnection: true,
    });
  }
}
