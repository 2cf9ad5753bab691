import { CLOSE, farewellFrom, type Ending } from './websocket-close.js';

const ending = (code: number, more: Partial<Ending> = {}): Ending => ({
  code,
  reason: Buffer.from('why'),
  faultCode: undefined,
  ...more,
});

describe('farewellFrom', () => {
  it.each(['client', 'upstream'] as const)('hands a close frame of the %s on as it is', (party) => {
    expect(farewellFrom(party, ending(3000))).toEqual({ code: 3000, reason: Buffer.from('why'), orderly: true });
    expect(farewellFrom(party, ending(CLOSE.noCode))).toEqual({ code: undefined, reason: '', orderly: true });
  });

  it('says honestly who has vanished', () => {
    expect(farewellFrom('client', ending(CLOSE.vanished))).toMatchObject({ code: 1001, orderly: false });
    expect(farewellFrom('upstream', ending(CLOSE.vanished))).toMatchObject({ code: 1014, orderly: false });
  });

  it.each([
    ['client', CLOSE.protocolError, 1001],
    ['client', CLOSE.tooBig, 1001],
    ['upstream', CLOSE.protocolError, 1014],
    ['upstream', CLOSE.tooBig, 1009],
  ] as const)('does not blame the other side for a fault of the %s (%i)', (party, faultCode, code) => {
    expect(farewellFrom(party, ending(CLOSE.vanished, { faultCode }))).toMatchObject({ code, orderly: false });
  });
});
