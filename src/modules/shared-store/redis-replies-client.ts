import library from 'ioredis/built/DataHandler.js';

/** Of the library's reader of replies, what is replaced here and what with. */
interface ReplyReader {
  dispatch(take: () => void): void;
  returnFatalError(error: Error): void;
}

/** The store has said what is no answer to anything. */
class MalformedReply extends Error {
  override readonly name = 'MalformedReply';
}

/**
 * The library reads a reply of an unexpected shape (a null where nothing was asked, a message without a channel) as if
 * it were none, and throws what comes of that past all listeners, which ends the process. Here it is taken as bytes are
 * that cannot be read at all: the connection is given up, whoever waits on it is told, and a new one is opened. Faults
 * of listeners are not to be mistaken for the store's: see `outsideOfReplies`.
 */
export function surviveMalformedReplies(): void {
  const reader = library.default.prototype as unknown as ReplyReader;
  if (typeof reader.dispatch !== 'function' || typeof reader.returnFatalError !== 'function')
    throw new Error('ioredis reads replies in another way now: malformed ones would end the process');
  reader.dispatch = function (this: ReplyReader, take) {
    try {
      take();
    } catch (cause) {
      this.returnFatalError(new MalformedReply('the store has answered nonsense', { cause }));
    }
  };
}

/** A listener of messages whose faults are its own. */
export const outsideOfReplies =
  <T extends unknown[]>(listener: (...message: T) => void) =>
  (...message: T): void =>
    process.nextTick(listener, ...message);
