import { GatewayProblem } from '../../common/problem/gateway-problem.js';
import type { Exchange } from '../proxy/exchange.js';
import { HotLane } from './hot-lane.js';

const PATH = '/v1/chat/completions';

/** What the lane looks at of an exchange. */
function exchange(name: string): { name: string; over: boolean } & Pick<Exchange, 'record'> {
  const request = { complete: true };
  return { name, over: false, request, record: { route: 'none' } } as never;
}

describe('the lane of the hot paths', () => {
  const served: unknown[] = [];
  const answered: unknown[] = [];
  let refusal: Error | undefined;
  const lane = new HotLane((error) => answered.push(error)).add(PATH, {
    admit: () => {
      if (refusal !== undefined) throw refusal;
    },
    serve: (one) => {
      served.push(one);
      return Promise.resolve();
    },
  });
  const take = (one: object): Promise<void> => {
    const route = lane.find(PATH);
    if (route === undefined) throw new Error('no route');
    return lane.take(PATH, route, one as Exchange);
  };

  beforeEach(() => {
    served.length = answered.length = 0;
    refusal = undefined;
  });

  it('serves those who have come together in their order, and none before all have been read', async () => {
    const [first, second] = [exchange('first'), exchange('second')];
    const taken = [take(first), take(second)];
    expect(served).toEqual([]);
    await Promise.all(taken);
    expect(served).toEqual([first, second]);
    expect(first.record.route).toBe(PATH);
  });

  it('neither serves nor answers a request that is over by then', async () => {
    const one = exchange('over');
    const taken = take(one);
    one.over = true;
    await taken;
    expect({ served, answered }).toEqual({ served: [], answered: [] });
  });

  it('answers whoever may not, and serves nothing', async () => {
    refusal = new GatewayProblem('not-ready', { detail: 'later' });
    await take(exchange('refused'));
    expect({ served, answered }).toEqual({ served: [], answered: [refusal] });
  });

  it('finds its own paths by the letter', () => {
    expect([`${PATH}/`, PATH.toUpperCase(), `${PATH}?a=1`].map((path) => lane.find(path))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});
