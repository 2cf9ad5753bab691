import { foldedMessage } from '../../../../test/support/rendered-messages.js';
import { lastResponse } from '../../../../test/support/rendered-responses.js';
import { delta, DONE } from '../../../../test/support/rendered-stream.js';

type Outcome = 'complete' | 'error';

const A = delta({ content: 'a' });
const B = delta({ content: 'b' });
const FINISH = delta({}, 'stop');
const HALF = 'data: {"choices":[{"index":0,"delta":{"content":"LO';

/** What a client of each dialect is told of these pieces: the error, or that the answer is complete. */
const TOLD = {
  messages: (pieces: readonly string[], outcome: Outcome): unknown => {
    const { error, stop_reason: reason } = foldedMessage(pieces, {}, outcome);
    return outcome === 'error' ? error : reason;
  },
  responses: (pieces: readonly string[], outcome: Outcome): unknown => {
    const { error, status } = lastResponse(pieces, outcome);
    return outcome === 'error' ? error : status;
  },
} as const;

describe.each(['messages', 'responses'] as const)('an event that nobody can read (%s)', (dialect) => {
  const told = TOLD[dialect];

  it.each([`${HALF}\n\n`, 'data: what?\n\n', 'event: message\ndata: {]\n\n', `: a comment\r\n${HALF}\r\n\r\n`])(
    'is a failure, since what it said is lost: %j',
    (broken) => {
      const message = expect.stringContaining('cannot be used') as unknown;
      expect(told([A, broken, B, FINISH, DONE], 'error')).toMatchObject({ message });
      expect(told([broken], 'error')).toMatchObject({ message });
    },
  );

  it.each([`${HALF}\n\n`, HALF])('is none behind a finish_reason, when nothing is left to say: %j', (broken) => {
    const complete = told([A, FINISH, DONE], 'complete');
    expect(told([A, FINISH, broken], 'complete')).toBe(complete);
    expect(told([A, FINISH, broken, DONE], 'complete')).toBe(complete);
  });

  it('is a cut answer where it is half of the last one', () => {
    expect(told([A, HALF], 'error')).toMatchObject({ message: expect.stringContaining('broke off') as unknown });
  });

  it.each([': keep-alive\n\n', 'data:\n\n', 'data: \n\n', 'event: ping\n\n', 'event: note\ndata: no json\n\n'])(
    'is none where it is no piece of an answer: %j',
    (other) => {
      expect(told([other, A, other, FINISH, other, DONE], 'complete')).toBe(told([A, FINISH, DONE], 'complete'));
    },
  );
});
