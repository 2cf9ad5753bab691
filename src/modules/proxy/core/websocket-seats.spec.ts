import { SocketSeats } from './websocket-seats.js';

describe('SocketSeats', () => {
  it('gives a tenant so many seats on a prefix, and no more', () => {
    const seats = new SocketSeats();
    seats.take('/console', 'acme', 2);
    const second = seats.take('/console', 'acme', 2);
    expect(() => seats.take('/console', 'acme', 2)).toThrow(
      expect.objectContaining({ code: 'budget-exhausted', status: 429 }),
    );
    seats.take('/other', 'acme', 2);
    seats.take('/console', 'bolt', 2);
    second[Symbol.dispose]();
    expect(() => seats.take('/console', 'acme', 2)).not.toThrow();
  });

  it('takes a seat back once', () => {
    const seats = new SocketSeats();
    const first = seats.take('/console', 'acme', 1);
    first[Symbol.dispose]();
    seats.take('/console', 'acme', 1);
    first[Symbol.dispose]();
    expect(() => seats.take('/console', 'acme', 1)).toThrow();
  });

  it('forgets tenants without a seat', () => {
    const seats = new SocketSeats();
    const taken = ['a', 'b', 'c'].map((tenant) => seats.take('/console', tenant, undefined));
    expect(seats.size).toBe(3);
    for (const seat of taken) seat[Symbol.dispose]();
    expect(seats.size).toBe(0);
  });
});
