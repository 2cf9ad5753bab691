import { DeliveredEvents, DeliveredTokens } from './delivered-tokens.js';

describe('tokens that were delivered', () => {
  it('are one for each piece, where pieces are small', () => {
    const delivered = new DeliveredTokens();
    for (const text of ['a', ' lot', ' of', ' it']) delivered.piece(text.length);
    expect(delivered.tokens).toBe(4);
  });

  it('are told by their bytes, where pieces are large', () => {
    const delivered = new DeliveredTokens();
    delivered.piece(4000);
    expect([delivered.tokens, delivered.pieces]).toEqual([1000, 1]);
  });

  it('are none before anything was delivered', () => {
    const events = new DeliveredEvents();
    events.event(200, false);
    expect([events.tokens, new DeliveredTokens().tokens]).toEqual([0, 0]);
  });

  it('of events are what is in them beyond the smallest, and one at the least', () => {
    const small = new DeliveredEvents();
    small.event(200, false);
    for (let i = 0; i < 10; i += 1) small.event(203, true);
    expect(small.tokens).toBe(10);
    const large = new DeliveredEvents();
    large.event(200, false);
    for (let i = 0; i < 10; i += 1) large.event(240, true);
    expect(large.tokens).toBe(100);
  });
});
