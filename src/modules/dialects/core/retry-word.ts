/** Some clients decide by these words in the message whether to try again: they stand where that helps. */
export type RetryWord = 'overloaded' | 'rate limit' | 'server_error' | 'timeout';

const RETRY_WORDS: readonly RetryWord[] = ['overloaded', 'rate limit', 'server_error', 'timeout'];
const WORD_BY_STATUS: ReadonlyMap<number, RetryWord> = new Map([
  [408, 'timeout'],
  [429, 'rate limit'],
  [503, 'overloaded'],
  [504, 'timeout'],
  [529, 'overloaded'],
]);

/** The word for an engine's own error; undefined: there is nothing to retry. */
export const retryWordOf = (status: number): RetryWord | undefined =>
  WORD_BY_STATUS.get(status) ?? (status >= 500 ? 'server_error' : undefined);

/** The text with a word for clients that look for one; as it is where there is nothing to retry or a word already. */
export function withRetryWord(message: string, word: RetryWord | undefined): string {
  if (word === undefined) return message;
  const lower = message.toLowerCase();
  return RETRY_WORDS.some((known) => lower.includes(known)) ? message : `${message} (${word})`;
}
