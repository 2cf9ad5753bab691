import { isPlainEvent, PlainEvents } from './plain-events.js';

const START = 'data: {"id":"c-1","object":"chat.completion.chunk","model":"m","choices":[';
const PLAIN = `${START}{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n`;

const OF_INTEREST: readonly (readonly [string, string])[] = [
  ['a call', `${START}{"index":0,"delta":{"tool_calls":[{"index":0}]},"finish_reason":null}]}\n\n`],
  ['a finish_reason', `${START}{"index":0,"delta":{},"finish_reason": "stop"}]}\n\n`],
  ['usage behind the choices', `${START}{"index":0,"delta":{}}],"usage":{"total_tokens":3}}\n\n`],
  ['usage before them', 'data: {"usage":{"total_tokens":3},"choices":[{"index":0,"delta":{}}]}\n\n'],
  ['an error', `${START}],"error":{"message":"x"}}\n\n`],
  ['no choices', 'data: {"id":"c-1"}\n\n'],
  ['the end', 'data: [DONE]\n\n'],
  ['a name', `event: x\n${PLAIN}`],
];

describe('PlainEvents', () => {
  it.each([
    ['an event like the ones before', PLAIN.replace('"a"', '"b"')],
    ['one with another beginning', PLAIN.replace('c-1', 'c-2')],
    [
      'one with members that hold nothing',
      PLAIN.replace('"a"', '"a","tool_calls":[ ]').replace(']}\n', '],"usage":null}\n'),
    ],
  ])('lets pass %s', (_what, event) => {
    const events = new PlainEvents();
    expect([PLAIN, event, PLAIN].map((one) => events.isOne(Buffer.from(one)))).toEqual([true, true, true]);
  });

  it.each(OF_INTEREST)('holds on to one with %s, first or behind others', (_what, event) => {
    const events = new PlainEvents();
    expect(isPlainEvent(event)).toBe(false);
    expect([event, PLAIN, event, PLAIN].map((one) => events.isOne(Buffer.from(one)))).toEqual([
      false,
      true,
      false,
      true,
    ]);
  });

  it.each([
    ['two events', PLAIN + PLAIN],
    ['half of one', PLAIN.slice(0, -1)],
    ['one with CRLFs', PLAIN.replaceAll('\n', '\r\n')],
    ['nothing', ''],
  ])('wants exactly one event, not %s', (_what, chunk) => {
    const events = new PlainEvents();
    events.isOne(Buffer.from(PLAIN));
    expect(events.isOne(Buffer.from(chunk))).toBe(false);
  });
});
