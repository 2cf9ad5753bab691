import { scriptedTurn } from './prompt-script.js';

const user = (content: unknown) => ({ role: 'user', content });
const answer = { role: 'assistant', content: '' };
const result = { role: 'tool', content: 'sim:say never' };

const SCRIPT =
  'Tidy up.\nsim:call read {"path":"a b.txt"}\n  sim:call write {"path":"c"}  \nsim:say All done.\nThanks.';

describe('the script in a prompt', () => {
  it('plays one line a turn, and then no more', () => {
    const turnAfter = (answers: number) =>
      scriptedTurn([user(SCRIPT), ...Array.from({ length: answers }, () => [answer, result]).flat()]);
    expect([0, 1, 2, 3].map(turnAfter)).toEqual([
      { kind: 'call', name: 'read', argumentsJson: '{"path":"a b.txt"}' },
      { kind: 'call', name: 'write', argumentsJson: '{"path":"c"}' },
      { kind: 'say', text: 'All done.' },
      undefined,
    ]);
  });

  it('begins anew with what the user says next, also in parts', () => {
    const next = user([
      { type: 'text', text: 'sim:say ' },
      { type: 'text', text: 'Again.' },
    ]);
    expect(scriptedTurn([user(SCRIPT), answer, result, next])).toEqual({ kind: 'say', text: 'Again.' });
    expect(scriptedTurn([user(SCRIPT), answer, user('Hello.')])).toBeUndefined();
  });

  it.each([
    ['in mid-line', 'Do not sim:say this.'],
    ['of an unknown verb', 'sim:sing this'],
    ['of a call without arguments', 'sim:call read'],
    ['of arguments that are no JSON', 'sim:call read {path}'],
    ['of arguments that are no object', 'sim:call read ["a"]'],
  ])('takes a line %s for ordinary text', (_, text) => {
    expect(scriptedTurn([user(text)])).toBeUndefined();
  });

  it('is never read from anyone but the user', () => {
    expect(scriptedTurn([{ role: 'system', content: SCRIPT }, result])).toBeUndefined();
    expect(scriptedTurn([])).toBeUndefined();
  });
});
