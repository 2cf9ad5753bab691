import { delta, DONE, frames, official, rendered } from '../../../../../test/support/rendered-stream.js';

const calls = (...fragments: object[]): string => delta({ tool_calls: fragments });
const start = delta({ role: 'assistant', content: '' });
const INVENTED = expect.stringMatching(/^call_[0-9a-f]{24}$/) as unknown;

/** The tool call fragments that the client gets for these. */
function fragments(...events: string[]): unknown[] {
  const seen = frames(rendered([start, ...events, DONE])) as { choices: { delta: { tool_calls?: unknown[] } }[] }[];
  return seen.slice(1, -1).flatMap((frame) => frame.choices[0]?.delta.tool_calls ?? []);
}

describe('tool calls of a stream', () => {
  it('pass as they came where nothing is missing', () => {
    const good = [
      calls({ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }),
      calls({ index: 0, function: { arguments: '{"x":' } }),
      calls({ index: 0, function: { arguments: '1}' } }),
      calls({ index: 1, id: 'b', type: 'function', function: { name: 'f', arguments: '{}' } }),
    ];
    expect(rendered([start, ...good, DONE])).toBe(start + good.join('') + DONE);
  });

  it('get an id and a type, each its own id', () => {
    const [first, second] = fragments(
      calls({ index: 0, function: { name: 'f', arguments: '{}' } }),
      calls({ index: 1, function: { name: 'f', arguments: '{}' } }),
    ) as { id: string; type: string }[];
    expect(first).toMatchObject({ id: INVENTED, type: 'function' });
    expect(second).toMatchObject({ id: INVENTED, type: 'function' });
    expect(first?.id).not.toBe(second?.id);
  });

  it('are told apart by their ids where all have one index', () => {
    expect(
      fragments(
        calls({ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }),
        calls({ index: 0, id: 'b', type: 'function', function: { name: 'f', arguments: '' } }),
        calls({ index: 0, id: 'b', function: { arguments: '{}' } }),
        calls({ index: 0, id: 'a', function: { arguments: ' ' } }),
      ),
    ).toEqual([
      { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } },
      { index: 1, id: 'b', type: 'function', function: { name: 'f', arguments: '' } },
      { index: 1, function: { arguments: '{}' } },
      { index: 0, function: { arguments: ' ' } },
    ]);
  });

  it('are told apart by their names where there are no ids', () => {
    expect(
      fragments(
        calls({ index: 0, function: { name: 'f', arguments: '{}' } }),
        calls({ index: 0, function: { name: 'g', arguments: '{}' } }),
      ),
    ).toMatchObject([{ index: 0 }, { index: 1, id: INVENTED }]);
  });

  it('are numbered without gaps, whatever the engine counts from', () => {
    expect(
      fragments(
        calls({ index: 1, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }),
        calls({ index: 4, id: 'b', type: 'function', function: { name: 'g', arguments: '' } }),
        calls({ index: 1, function: { arguments: '{}' } }),
      ),
    ).toMatchObject([{ index: 0, id: 'a' }, { index: 1, id: 'b' }, { index: 0 }]);
  });

  it('without any index begin with each new id and go on without one', () => {
    expect(
      fragments(
        calls({ id: 'a', type: 'function', function: { name: 'f', arguments: '{' } }, { function: { arguments: '}' } }),
        calls({ id: 'b', type: 'function', function: { name: 'f', arguments: '{}' } }),
      ),
    ).toMatchObject([
      { index: 0, id: 'a' },
      { index: 0, function: { arguments: '}' } },
      { index: 1, id: 'b' },
    ]);
  });

  it('lose the id and the name that come again, which some clients would append', () => {
    expect(
      fragments(
        calls({ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }),
        calls({ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }),
        calls({ index: 0, id: null, function: { name: null, arguments: null } }),
      ),
    ).toEqual([
      { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } },
      { index: 0, type: 'function', function: { arguments: '{}' } },
      { index: 0, function: { arguments: '' } },
    ]);
  });

  it('take an id that comes late and without a name for that of the open call', () => {
    expect(
      fragments(
        calls({ index: 0, function: { name: 'f', arguments: '' } }),
        calls({ index: 0, id: 'late', function: { arguments: '{}' } }),
      ),
    ).toMatchObject([
      { index: 0, id: INVENTED },
      { index: 0, function: { arguments: '{}' } },
    ]);
  });

  it('keep a name that comes late, once', () => {
    expect(
      fragments(
        calls({ index: 0, id: 'a', type: 'function', function: { arguments: '' } }),
        calls({ index: 0, function: { name: null, arguments: '{' } }),
        calls({ index: 0, function: { name: 'f', arguments: '}' } }),
        calls({ index: 0, function: { name: 'f', arguments: '' } }),
      ),
    ).toEqual([
      { index: 0, id: 'a', type: 'function', function: { arguments: '' } },
      { index: 0, function: { arguments: '{' } },
      { index: 0, function: { name: 'f', arguments: '}' } },
      { index: 0, function: { arguments: '' } },
    ]);
  });

  it('have their arguments as text, with the digits that the engine wrote', () => {
    const event = calls({ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: 'X' } });
    const out = rendered([start, event.replace('"X"', '{"n": 1.50, "s":"\\"q\\""}'), DONE]);
    expect(out).toBe(start + event.replace('"X"', JSON.stringify('{"n": 1.50, "s":"\\"q\\""}')) + DONE);
  });

  it('begin with empty arguments where there are none', () => {
    expect(fragments(calls({ index: 0, id: 'a', type: 'function', function: { name: 'f' } }))).toEqual([
      { index: 0, id: 'a', type: 'function', function: { arguments: '', name: 'f' } },
    ]);
  });

  it('are counted for each choice on its own', () => {
    const call = { index: 0, function: { name: 'f', arguments: '{}' } };
    const out = rendered(
      [
        delta({ role: 'assistant', tool_calls: [call] }),
        delta({ role: 'assistant', tool_calls: [call] }, null, 1),
        DONE,
      ],
      {
        choices: 2,
      },
    );
    const [first, second] = frames(out) as { choices: { delta: { tool_calls: { index: number; id: string }[] } }[] }[];
    const [one, other] = [first, second].map((frame) => frame?.choices[0]?.delta.tool_calls[0]);
    expect([one?.index, other?.index]).toEqual([0, 0]);
    expect(one?.id).not.toBe(other?.id);
  });

  it('reach the official client whole', async () => {
    const out = rendered([
      calls({ function: { name: 'f', arguments: { a: 1 } } }, { function: { name: 'g', arguments: { b: [2] } } }),
      delta({}, 'tool_calls'),
    ]);
    const { choices } = await official(out);
    expect(choices[0]?.message.tool_calls).toMatchObject([
      { id: INVENTED, type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
      { id: INVENTED, type: 'function', function: { name: 'g', arguments: '{"b":[2]}' } },
    ]);
  });
});
