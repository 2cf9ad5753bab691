import { setTimeout as delay } from 'node:timers/promises';
import {
  chatRequest,
  chunk,
  deltaEvent,
  DONE_EVENT,
  FINISH_EVENT,
  jsonAnswer,
  LAST_CHUNK,
  STREAM_HEAD,
  streamRequest,
} from '../support/chat-wire.js';
import { busiestOf, childrenOf } from '../support/child-processes.js';
import { EngineWorld, expectProblem } from '../support/engine-world.js';
import type { RawConnection } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';

const WORKERS = 2;

describe('workers with streams that live', () => {
  let world: EngineWorld;

  beforeEach(async () => {
    world = await EngineWorld.start({
      upstream: { slots: { limit: 6, perEndpoint: 6 } },
      server: { workers: WORKERS, drainDelay: '300ms', drainTimeout: '8s' },
    });
    world.engine.play(({ socket }) => socket.write(STREAM_HEAD + chunk(deltaEvent('one'))));
  }, 20_000);
  afterEach(() => world.stop(), 20_000);

  const finish = (): void => {
    for (const { socket } of world.engine.requests) socket.write(chunk(FINISH_EVENT) + chunk(DONE_EVENT) + LAST_CHUNK);
  };

  async function open(streams: number): Promise<RawConnection[]> {
    const all = await Promise.all(Array.from({ length: streams }, () => world.ask(streamRequest())));
    await eventually(() => all.every(({ socket }) => socket.bytesRead > 0));
    return all;
  }

  it('drain together: no stream is cut, newcomers are served until the listener closes, exit 0', async () => {
    const streams = (await open(6)).map((connection) => connection.response());
    world.gateway.kill('SIGTERM');
    await eventually(() => world.gateway.logs().filter(({ msg }) => msg === 'draining').length === WORKERS);
    expectProblem(await world.send({ method: 'GET', path: '/readyz' }), 503, 'not-ready');
    await delay(400);
    finish();
    for (const stream of await Promise.all(streams))
      expect([stream.end, stream.text()]).toEqual(['clean', deltaEvent('one') + FINISH_EVENT + DONE_EVENT]);
    expect(await world.gateway.exit()).toEqual({ code: 0, signal: null });
    const logs = world.gateway.logs();
    expect(logs.filter(({ msg }) => msg === 'listening')).toHaveLength(1);
    expect(new Set(logs.filter(({ msg }) => msg === 'draining').map(({ worker }) => worker))).toEqual(new Set([1, 2]));
  });

  it('end at once when told twice', async () => {
    const streams = (await open(3)).map((connection) => connection.response());
    world.gateway.kill('SIGTERM');
    await eventually(() => world.gateway.logs().some(({ msg }) => msg === 'draining'));
    world.gateway.kill('SIGTERM');
    expect((await world.gateway.exit()).code).toBe(0);
    expect((await Promise.all(streams)).map(({ end }) => end)).not.toContain('clean');
  });

  it('hold their places for all: the seventh waits for one of the six, wherever it arrives', async () => {
    await open(6);
    const waiters = await Promise.all(Array.from({ length: 3 }, () => world.ask(chatRequest())));
    const answers = waiters.map((connection) => connection.response());
    await eventually(async () => (await world.queued()) === 3);
    expect(await world.inUse()).toBe(6);
    expect(world.engine.requests).toHaveLength(6);
    world.engine.answer = ({ socket }) => socket.write(jsonAnswer());
    finish();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200]);
    await world.slotsFree();
  });

  it('give back at once what a killed one held, and what the others hold goes on', async () => {
    let broken = 0;
    const ends = (await open(6)).map((connection) => {
      void connection.closed.then(() => (broken += 1));
      return connection.response().catch(() => undefined);
    });
    expect(await world.inUse()).toBe(6);
    process.kill(await busiestOf(await childrenOf(world.gateway.pid)), 'SIGKILL');
    await eventually(() => broken > 0);
    await eventually(async () => (await world.inUse()) === 6 - broken);
    expect(broken).toBeGreaterThanOrEqual(6 / WORKERS);
    const cut = broken;
    // As many places are free as it held, though nothing else has ended; one more has to wait.
    await open(cut);
    const next = (await world.ask(chatRequest())).response();
    await eventually(async () => (await world.queued()) === 1);
    world.engine.answer = ({ socket }) => socket.write(jsonAnswer());
    finish();
    expect((await next).status).toBe(200);
    const whole = (await Promise.all(ends)).filter((answer) => answer?.text().endsWith(DONE_EVENT));
    expect(whole).toHaveLength(6 - cut);
    await world.slotsFree();
  });
});
