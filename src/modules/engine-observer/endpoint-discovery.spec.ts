import { FakeClock } from '../../../test/support/fake-clock.js';
import { EndpointDiscovery, resolveAll } from './endpoint-discovery.js';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A name that stands for what the test says. */
function world(first: readonly string[] | Error) {
  const clock = new FakeClock();
  const told: (readonly string[] | string)[] = [];
  const name = { stands: first, lookedUp: 0 };
  const discovery = new EndpointDiscovery(
    'engine.llm',
    async () => {
      name.lookedUp += 1;
      await settled();
      if (name.stands instanceof Error) throw name.stands;
      return name.stands;
    },
    clock,
    { onAddresses: (addresses) => told.push(addresses), onFailure: (error) => told.push(String(error)) },
  );
  const later = async (): Promise<void> => {
    clock.advance(5000);
    await settled();
    await settled();
  };
  return { clock, discovery, name, told, later };
}

describe('endpoint-discovery', () => {
  it('tells the addresses in order, and again only when they have changed', async () => {
    const { discovery, name, told, later } = world(['10.0.0.2', '10.0.0.1']);
    await discovery.start();
    name.stands = ['10.0.0.1', '10.0.0.2'];
    await later();
    expect([name.lookedUp, told]).toEqual([2, [['10.0.0.1', '10.0.0.2']]]);
    name.stands = ['10.0.0.3', '10.0.0.2'];
    await later();
    expect(told[1]).toEqual(['10.0.0.2', '10.0.0.3']);
  });

  it('keeps the last list when the name fails or is empty, and tells that once', async () => {
    const { discovery, name, told, later } = world(['10.0.0.1']);
    await discovery.start();
    for (const stands of [new Error('ENOTFOUND'), [], new Error('EAI_AGAIN'), ['10.0.0.1'], []]) {
      name.stands = stands;
      await later();
    }
    expect(told).toEqual([['10.0.0.1'], 'Error: ENOTFOUND', 'Error: the name has no address']);
  });

  it('goes on looking where the first look failed', async () => {
    const { discovery, name, told, later } = world(new Error('ENOTFOUND'));
    await discovery.start();
    name.stands = ['10.0.0.1'];
    await later();
    expect(told).toEqual(['Error: ENOTFOUND', ['10.0.0.1']]);
  });

  it('stops, a look that is under way included', async () => {
    const { clock, discovery, told } = world(['10.0.0.1']);
    const started = discovery.start();
    discovery.stop();
    await started;
    expect([told, clock.timers]).toEqual([[], 0]);
  });

  it('resolves as the machine does', async () => {
    expect(await resolveAll('127.0.0.1')).toEqual(['127.0.0.1']);
  });
});
