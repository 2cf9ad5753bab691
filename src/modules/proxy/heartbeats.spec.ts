import { FakeClock } from '../../../test/support/fake-clock.js';
import { Heartbeats, type Beating } from './heartbeats.js';

class Stream implements Beating {
  sentBytes = 0;
  readonly beats: string[] = [];

  constructor(private readonly clock: FakeClock) {}

  beat(asEvent: boolean): void {
    this.beats.push(`${this.clock.now() / 1000}${asEvent ? ' event' : ''}`);
  }
}

function world() {
  const clock = new FakeClock();
  const heartbeats = new Heartbeats({ heartbeatMs: 15_000, heartbeatEventsAfterMs: 40_000 }, clock);
  const stream = new Stream(clock);
  heartbeats.watch(stream);
  return { clock, heartbeats, stream };
}

describe('Heartbeats', () => {
  it('beats whenever a stream has been silent for the interval, and with events after a while', () => {
    const { clock, stream } = world();
    clock.advance(60_000);
    expect(stream.beats).toEqual(['15', '30', '45 event', '60 event']);
  });

  it('leaves a stream alone that says something itself', () => {
    const { clock, stream } = world();
    for (let i = 0; i < 60; i += 1) {
      stream.sentBytes += 10;
      clock.advance(1000);
    }
    expect(stream.beats).toEqual([]);
    clock.advance(16_000);
    expect(stream.beats).toHaveLength(1);
  });

  it('has one timer for all streams, and none without a stream', () => {
    const { clock, heartbeats, stream } = world();
    const others = Array.from({ length: 100 }, () => new Stream(clock));
    for (const other of others) heartbeats.watch(other);
    expect(clock.timers).toBe(1);
    for (const one of [stream, ...others, stream]) heartbeats.unwatch(one);
    expect(clock.timers).toBe(0);
    clock.advance(60_000);
    expect(stream.beats).toEqual([]);
  });

  it('lets a stream leave while it is beaten', () => {
    const { clock, heartbeats } = world();
    const leaver: Beating = { sentBytes: 0, beat: () => heartbeats.unwatch(leaver) };
    heartbeats.watch(leaver);
    clock.advance(60_000);
    expect(heartbeats.watched).toBe(1);
  });
});
