import type { EngineGauges } from './engine-snapshot.js';
import { EngineState } from './engine-state.js';

const INTERVAL_MS = 2000;
const stateOf = (): EngineState => new EngineState({ intervalMs: INTERVAL_MS, staleAfter: 3 });
const reading = (gauges: EngineGauges = { running: 1, waiting: 0 }, bootMark?: string) => ({ gauges, bootMark });

describe('engine-state: condition', () => {
  it('is unknown until a poll was good', () => {
    const state = stateOf();
    expect(state.conditionAt(0)).toBe('unknown');
    state.fail();
    expect(state.conditionAt(100_000)).toBe('unknown');
    state.succeed(reading(), 100_000);
    expect(state.conditionAt(100_000)).toBe('healthy');
  });

  it('is late above two intervals, and keeps its snapshot', () => {
    const state = stateOf();
    state.succeed(reading({ running: 3, waiting: 1 }), 1000);
    state.fail();
    expect(state.conditionAt(1000 + 2 * INTERVAL_MS)).toBe('healthy');
    expect(state.conditionAt(1001 + 2 * INTERVAL_MS)).toBe('late');
    expect(state.snapshot).toMatchObject({ running: 3, waiting: 1, takenAtMs: 1000 });
  });

  it('is stale after so many failures in a row, which counts once', () => {
    const state = stateOf();
    state.succeed(reading(), 0);
    expect([state.fail(), state.fail()]).toEqual([false, false]);
    expect(state.conditionAt(100)).toBe('healthy');
    expect([state.fail(), state.fail(), state.fail()]).toEqual([true, false, false]);
    expect([state.conditionAt(100), state.staleCount, state.failures]).toEqual(['stale', 1, 5]);
  });

  it('is stale too where it never answered', () => {
    const state = stateOf();
    for (let times = 0; times < 3; times += 1) state.fail();
    expect([state.conditionAt(0), state.snapshot, state.staleCount]).toEqual(['stale', undefined, 1]);
  });

  it('is healthy again after one good poll, and counts the next turn anew', () => {
    const state = stateOf();
    for (let times = 0; times < 3; times += 1) state.fail();
    state.succeed(reading(), 50);
    expect([state.conditionAt(50), state.failures]).toEqual(['healthy', 0]);
    for (let times = 0; times < 3; times += 1) state.fail();
    expect(state.staleCount).toBe(2);
  });
});

/** The boot ids after each reading, as numbers of first occurrence. */
function boots(...readings: { gauges: EngineGauges; bootMark: string | undefined }[]): number[] {
  const state = stateOf();
  const ids = readings.map((one, at) => {
    state.succeed(one, at);
    return state.snapshot?.bootId ?? '';
  });
  return ids.map((id) => ids.indexOf(id));
}

describe('engine-state: boot id', () => {
  it('changes with the mark, and with that alone where there is one', () => {
    const marked = (mark: string, promptTokens: number) => reading({ promptTokens }, mark);
    expect(boots(marked('a', 5), marked('a', 9), marked('a', 1), marked('b', 2), marked('b', 3))).toEqual([
      0, 0, 0, 3, 3,
    ]);
  });

  it('changes where a counter falls, when there is no mark', () => {
    const counted = (promptTokens: number, preemptions: number) => reading({ promptTokens, preemptions });
    expect(boots(counted(5, 1), counted(9, 1), counted(9, 0), counted(9, 0), counted(0, 0))).toEqual([0, 0, 2, 2, 4]);
  });

  it('does not change where a counter or the mark is missing once, nor when the mark comes later', () => {
    expect(boots(reading({ promptTokens: 5 }), reading({}), reading({ promptTokens: 6 }))).toEqual([0, 0, 0]);
    expect(boots(reading({}, 'a'), reading({}), reading({}, 'a'))).toEqual([0, 0, 0]);
    expect(boots(reading({}), reading({}, 'a'), reading({}, 'b'))).toEqual([0, 0, 2]);
  });

  it('differs for one mark after another start in between', () => {
    expect(boots(reading({}, 'a'), reading({}, 'b'), reading({}, 'a'))).toEqual([0, 1, 2]);
  });
});

describe('engine-state: slots', () => {
  const load = (running: number, waitingCapacity: number, mark = 'a') =>
    reading({ running, waiting: waitingCapacity, waitingCapacity }, mark);

  it('are the most that ran while others waited', () => {
    const state = stateOf();
    state.succeed(load(6, 0), 0);
    expect(state.snapshot).not.toHaveProperty('slots');
    for (const [running, waiting] of [
      [4, 2],
      [3, 1],
      [9, 0],
    ] as const) {
      state.succeed(load(running, waiting), 1);
      expect(state.snapshot?.slots).toBe(4);
    }
  });

  it('are forgotten when the engine starts anew', () => {
    const state = stateOf();
    state.succeed(load(4, 2), 0);
    state.succeed(load(1, 0, 'b'), 1);
    expect(state.snapshot).not.toHaveProperty('slots');
  });
});
