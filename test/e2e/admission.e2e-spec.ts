import { chatRequest, jsonAnswer } from '../support/chat-wire.js';
import type { TestUpstream } from '../support/gateway-config.js';
import { EngineWorld, expectProblem, type EngineWorldOptions } from '../support/engine-world.js';
import { parseJson, type JsonObject } from '../support/json.js';
import { requestBytes, RawConnection, type RawResponse, type RequestParts } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';
import type { TcpRequest } from '../support/tcp-engine.js';

const BANDS = [
  { name: 'platinum', ceiling: 1, capacity: 4, ttl: '20s' },
  { name: 'gold', ceiling: 0.75, capacity: 16, ttl: '20s' },
  { name: 'bronze', ceiling: 0.5, capacity: 4, ttl: '1s' },
];
const slots = (limit: number): Partial<TestUpstream> => ({ slots: { limit, perEndpoint: limit } });
const OPEN = { auth: { bandHeaderTrust: 'any' } };

interface Caller {
  readonly band?: string;
  readonly tenant?: string;
}

/** A request by name: the engine sees the name, and so the test sees the order. */
const named = (name: string, { band, tenant }: Caller = {}, members: JsonObject = {}): RequestParts => {
  const request = chatRequest({ user: name, ...members });
  return {
    ...request,
    headers: {
      'content-type': 'application/json',
      ...(band !== undefined && { 'x-llmgw-band': band }),
      ...(tenant !== undefined && { 'x-llmgw-session': tenant }),
    },
  };
};
const nameOf = ({ body }: TcpRequest): unknown => (parseJson(body.toString()) as JsonObject | undefined)?.['user'];

/** A gateway whose engine answers nobody before it is told to. */
class Queue {
  private readonly answers: Promise<RawResponse>[] = [];
  private readonly connections: RawConnection[] = [];
  private freed = 0;

  private constructor(readonly world: EngineWorld) {
    world.engine.play(() => undefined);
  }

  static async start(options: EngineWorldOptions): Promise<Queue> {
    return new Queue(await EngineWorld.start({ admission: { bands: BANDS, retryAfter: '3s' }, ...options }));
  }

  /** Sends a request; settles when it is at the engine or waits in the queue. */
  async ask(request: RequestParts): Promise<void> {
    const before = await this.known();
    const connection = await RawConnection.open(this.world.gateway.port);
    this.connections.push(connection);
    connection.send(requestBytes(request));
    const answer = connection.response({ method: 'POST' });
    answer.catch(() => undefined);
    this.answers.push(answer);
    await eventually(async () => (await this.known()) > before);
  }

  /** The names of those that have reached the engine, in that order. */
  get served(): unknown[] {
    return this.world.engine.requests.map(nameOf);
  }

  /** The engine answers the one that it has had longest. */
  free(): void {
    this.world.engine.requests[this.freed]?.socket.write(jsonAnswer());
    this.freed += 1;
  }

  /** Answers one after the other until so many have been served. */
  async serve(count: number): Promise<unknown[]> {
    while (this.freed < count) {
      await eventually(() => this.world.engine.requests.length > this.freed);
      this.free();
    }
    return this.served;
  }

  async end(): Promise<void> {
    for (const connection of this.connections) connection.destroy();
    await this.world.stop();
  }

  /** Requests that hold a place or wait for one. */
  private async known(): Promise<number> {
    const page = this.world.gateway;
    const running = (await page.metric('upstream_in_flight', { upstream: 'engine' })) ?? 0;
    const queued = (await this.world.queued()) ?? 0;
    const ended = (await page.metric('http_requests_total', { upstream: 'engine' })) ?? 0;
    return running + queued + ended;
  }
}

let queue: Queue;
afterEach(() => queue.end(), 20_000);

describe('who runs next', () => {
  it('bands go from high to low, and within a band, tenant and class the first to come goes first', async () => {
    queue = await Queue.start({ ...OPEN, upstream: slots(1) });
    await queue.ask(named('holder'));
    for (const band of ['bronze', 'gold', 'platinum'])
      for (const at of [1, 2]) await queue.ask(named(`${band}-${String(at)}`, { band }));
    expect(await queue.serve(7)).toEqual([
      'holder',
      'platinum-1',
      'platinum-2',
      'gold-1',
      'gold-2',
      'bronze-1',
      'bronze-2',
    ]);
  });

  it('a lower band leaves what lies above its ceiling to the higher ones, and runs beside them as soon as it may', async () => {
    queue = await Queue.start({ ...OPEN, upstream: slots(4) });
    for (let i = 0; i < 4; i += 1) await queue.ask(named(`bronze-${String(i)}`, { band: 'bronze' }));
    expect(queue.served).toEqual(['bronze-0', 'bronze-1']);
    for (let i = 0; i < 2; i += 1) await queue.ask(named(`gold-${String(i)}`, { band: 'gold' }));
    for (let i = 0; i < 2; i += 1) await queue.ask(named(`platinum-${String(i)}`, { band: 'platinum' }));
    expect(queue.served).toEqual(['bronze-0', 'bronze-1', 'gold-0', 'platinum-0']);
    const { gateway } = queue.world;
    expect(await gateway.metric('pool_saturation', { upstream: 'engine' })).toBe(1);
    expect(await gateway.metric('slots_in_use', { upstream: 'engine' })).toBe(4);
    for (const band of ['platinum', 'gold']) {
      expect(await gateway.metric('admission_queue_depth', { upstream: 'engine', band })).toBe(1);
    }
    expect(await gateway.metric('admission_queue_depth', { upstream: 'engine', band: 'bronze' })).toBe(2);
    expect(await gateway.metric('admission_decisions_total', { upstream: 'engine', test: 'count' })).toBeGreaterThan(0);
    // Both go at once: which of two connections an engine reads first is not the gateway's to say.
    expect((await queue.serve(6)).slice(4).toSorted()).toEqual(['gold-1', 'platinum-1']);
  });

  it('a caller may lower its band and not raise it, unless the configuration trusts everybody', async () => {
    queue = await Queue.start({ upstream: slots(1) });
    await queue.ask(named('holder'));
    await queue.ask(named('lowered', { band: 'bronze' }));
    await queue.ask(named('default'));
    await queue.ask(named('raised', { band: 'platinum' }));
    expect(await queue.serve(4)).toEqual(['holder', 'default', 'raised', 'lowered']);
  });

  it('tenants take turns, whatever one of them sends', async () => {
    queue = await Queue.start({ upstream: slots(1) });
    await queue.ask(named('holder', { tenant: 'noisy' }));
    for (let i = 0; i < 4; i += 1) await queue.ask(named(`noisy-${String(i)}`, { tenant: 'noisy' }));
    for (let i = 0; i < 2; i += 1) await queue.ask(named(`quiet-${String(i)}`, { tenant: 'quiet' }));
    const order = await queue.serve(7);
    expect(order.indexOf('quiet-0')).toBeLessThanOrEqual(2);
    expect(order.indexOf('quiet-1')).toBeLessThanOrEqual(4);
    const { gateway } = queue.world;
    await queue.world.slotsFree();
    const tokens = (tenant: string) =>
      gateway.metric('admission_tenant_tokens_total', { upstream: 'engine', band: 'gold', tenant });
    expect(await tokens('quiet')).toBeGreaterThan(0);
    expect(await tokens('noisy')).toBeGreaterThan((await tokens('quiet')) ?? Infinity);
    // What tenants have had is what the engine has counted.
    const counted = (kind: string) => gateway.metric('llm_tokens_total', { kind });
    const served = ((await tokens('noisy')) ?? NaN) + ((await tokens('quiet')) ?? NaN);
    expect(served).toBe(((await counted('prompt')) ?? NaN) + ((await counted('completion')) ?? NaN));
  });

  it('a name that nobody vouches for makes no tenant', async () => {
    queue = await Queue.start({ upstream: slots(1), server: { trustedProxies: ['10.0.0.0/8'] } });
    await queue.ask(named('holder', { tenant: 'noisy' }));
    for (let i = 0; i < 3; i += 1) await queue.ask(named(`noisy-${String(i)}`, { tenant: 'noisy' }));
    await queue.ask(named('quiet', { tenant: 'quiet' }));
    expect((await queue.serve(5)).at(-1)).toBe('quiet');
    await queue.world.slotsFree();
    const { gateway } = queue.world;
    expect(await gateway.metric('admission_tenant_tokens_total', { tenant: 'anonymous' })).toBeGreaterThan(0);
    expect(await gateway.metric('admission_tenant_tokens_total', { tenant: 'noisy' })).toBeUndefined();
  });
});

describe('who waits no more', () => {
  it('a full queue turns the next one away at once, with a time to come back, and no other band feels it', async () => {
    queue = await Queue.start({
      ...OPEN,
      upstream: slots(1),
      admission: { bands: BANDS.map((band) => ({ ...band, ttl: '20s' })), retryAfter: '3s' },
    });
    await queue.ask(named('holder'));
    for (let i = 0; i < 4; i += 1) await queue.ask(named(`bronze-${String(i)}`, { band: 'bronze' }));
    const refused = await queue.world.send(named('one-too-many', { band: 'bronze' }));
    const problem = expectProblem(refused, 503, 'queue-full');
    expect(problem).toMatchObject({ band: 'bronze', error: { message: expect.stringContaining('overloaded') } });
    const seconds = Number(refused.header('retry-after'));
    expect(Number.isInteger(seconds)).toBe(true);
    expect([seconds >= 3, seconds <= 60]).toEqual([true, true]);
    expect(refused.header('x-should-retry')).toBeUndefined();
    await queue.ask(named('gold', { band: 'gold' }));
    expect((await queue.serve(2))[1]).toBe('gold');
    const { gateway } = queue.world;
    const rejected = { upstream: 'engine', band: 'bronze', reason: 'queue_full' };
    expect(await gateway.metric('admission_rejected_total', rejected)).toBe(1);
    expect(await gateway.metric('http_rejected_total', { reason: 'queue_full' })).toBe(1);
  });

  it('one that has waited for its ttl gets a 504 with a time to come back, and the next one moves up', async () => {
    queue = await Queue.start({ ...OPEN, upstream: slots(1) });
    await queue.ask(named('holder'));
    const late = await queue.world.send(named('late', { band: 'bronze' }));
    expectProblem(late, 504, 'queue-timeout');
    expect(Number(late.header('retry-after'))).toBeGreaterThanOrEqual(3);
    await queue.ask(named('patient'));
    expect(await queue.serve(2)).toEqual(['holder', 'patient']);
    const { gateway } = queue.world;
    expect(await gateway.metric('admission_rejected_total', { band: 'bronze', reason: 'queue_timeout' })).toBe(1);
  });

  it('what was counted adds up', async () => {
    queue = await Queue.start({ upstream: slots(1) });
    await queue.ask(named('holder'));
    for (let i = 0; i < 3; i += 1) await queue.ask(named(`waits-${String(i)}`));
    await queue.serve(4);
    await queue.world.slotsFree();
    const { gateway } = queue.world;
    const of = { upstream: 'engine', band: 'gold' };
    expect(await gateway.metric('admission_wait_seconds_count', of)).toBe(4);
    expect(await gateway.metric('admission_wait_seconds_sum', of)).toBeGreaterThan(0);
    expect(await gateway.metric('admission_parked_total', of)).toBe(3);
    expect(await gateway.metric('slots_limit', { upstream: 'engine' })).toBe(1);
    expect(await gateway.metric('upstream_in_flight', { upstream: 'engine' })).toBe(0);
    expect(await gateway.metric('pool_saturation', { upstream: 'engine' })).toBe(0);
    expect(await gateway.metric('admission_decisions_total', { upstream: 'engine', test: 'limit' })).toBe(1);
    for (const name of ['admission_prefill_backlog_seconds', 'admission_kv_reserved_tokens'])
      expect(await gateway.metric(name, { upstream: 'engine' })).toBe(0);
    expect(await gateway.metric('engine_batch_capacity', { upstream: 'engine' })).toBe(1);
  });
});

describe('what takes a place', () => {
  const both = {
    models: [{ id: 'both', upstream: 'engine', operations: ['chat' as const, 'completions' as const] }],
    aliases: [{ path: '/v1/both/chat/completions', operation: 'chat' as const, model: 'both' }],
  };
  const completion = (name: string, members: JsonObject): RequestParts => ({
    ...named(name),
    path: '/v1/completions',
    body: JSON.stringify({ model: 'both', user: name, ...members }),
  });

  it('every operation and every path of an upstream, from one and the same pool', async () => {
    queue = await Queue.start({ ...both, upstream: slots(1) });
    await queue.ask(named('chat'));
    await queue.ask(completion('completions', { prompt: 'hi' }));
    await queue.ask({ ...named('alias'), path: '/v1/both/chat/completions' });
    await queue.ask(named('chat again', {}, { model: 'both' }));
    expect(queue.served).toEqual(['chat']);
    expect(await queue.serve(4)).toEqual(['chat', 'completions', 'alias', 'chat again']);
    const paths = queue.world.engine.requests.map(({ head }) => head.split(' ')[1]);
    expect(paths).toEqual(['/v1/chat/completions', '/v1/completions', '/v1/chat/completions', '/v1/chat/completions']);
  });

  it.each([
    ['choices', named('many', {}, { n: 3 })],
    ['choices and the best of more', completion('many', { prompt: 'hi', best_of: 3 })],
    ['prompts', completion('many', { prompt: ['a', 'b', 'c'] })],
  ])('as many places as the engine will run sequences: %s', async (_, many) => {
    queue = await Queue.start({
      ...both,
      upstream: slots(4),
      admission: { bands: [{ name: 'gold', ceiling: 1, capacity: 8, ttl: '20s' }] },
    });
    await queue.ask(many);
    expect(await queue.world.inUse()).toBe(3);
    await queue.ask(named('pair', { tenant: 'other' }, { n: 2 }));
    await queue.ask(named('single'));
    expect([queue.served, await queue.world.inUse()]).toEqual([['many'], 3]);
    expect((await queue.serve(1)).length).toBeGreaterThan(0);
    await eventually(() => queue.served.length === 3);
    expect(await queue.world.inUse()).toBe(3);
  });

  it('a request for more than an engine runs at once has it to itself', async () => {
    queue = await Queue.start({ ...both, upstream: slots(4) });
    await queue.ask(named('huge', {}, { n: 100 }));
    expect([queue.served, await queue.world.inUse()]).toEqual([['huge'], 4]);
    await queue.ask(named('next'));
    expect(queue.served).toEqual(['huge']);
    expect(await queue.serve(2)).toEqual(['huge', 'next']);
  });
});
