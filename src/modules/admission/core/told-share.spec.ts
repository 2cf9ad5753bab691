import type { EndpointLedger } from './endpoint-ledger.js';
import { EndpointSet } from './endpoint-set.js';
import { FlowQueue } from './flow-queue.js';
import { BandActivity } from './band-activity.js';
import { PeerLedgers } from './peer-ledgers.js';
import type { SharedLedger } from './shared-ledger.js';
import { ToldShare } from './told-share.js';
import type { Waiter } from './waiter.js';

const NOBODY = Infinity;
const PLACES = 8;

/** One of three gateways, which has just read both others. */
function world(others: readonly { readonly wants: boolean; readonly places?: number }[]) {
  const endpoints = new EndpointSet(PLACES);
  const endpoint = endpoints.list(['e0'])[0] as EndpointLedger;
  const bands = [new FlowQueue<Waiter>(), new FlowQueue<Waiter>()];
  const peers = new PeerLedgers({ endpoints, bands, activity: new BandActivity(2, 0) });
  for (const [at, { wants, places = 0 }] of others.entries()) peers.hear(`p${at}`, told(`p${at}`, wants, places), 0);
  const share = new ToldShare('me', peers, 3);
  const most = (band = 1): number => share.mostPlaces(endpoint, { cap: PLACES, band, ordinal: 0 });
  return { endpoint, share, most };
}

const told = (epoch: string, wants: boolean, places: number): SharedLedger => ({
  epoch,
  leases: Array.from({ length: places }, () => ({
    ...{ endpoint: 'e0', band: 1, kind: 'light' as const, places: 1 },
    ...{ kvTokens: 0, promptTokens: 1, estimateMs: 1, grantedAgoMs: 0 },
  })),
  service: [[], []],
  backlog: wants ? [{ band: 1, kind: 'light', tenant: 't', counter: 0, waitedMs: 1, wantsPlace: true }] : [],
});

describe('a share among gateways that tell each other', () => {
  it('is a part of the whole until all have been heard of', () => {
    expect(world([]).most()).toBe(Math.ceil(PLACES / 3));
  });

  it.each([
    ['a third of what is free, where nobody waits here', [{ wants: false }, { wants: false }], NOBODY, 3],
    ['a third, where all wait', [{ wants: true }, { wants: true }], 1, 3],
    ['half, where one of the others waits', [{ wants: true }, { wants: false }], 1, 4],
    ['all, where nobody else waits', [{ wants: false }, { wants: false }], 1, PLACES],
    ['all, where only lower bands wait elsewhere', [{ wants: true }, { wants: true }], 0, PLACES],
    ['what is free only', [{ wants: false, places: 5 }, { wants: false }], 1, 3],
  ] as const)('is %s', (_, others, wanted, expected) => {
    const { endpoint, share, most } = world(others);
    share.noteNews([endpoint], 0, wanted);
    expect(most(wanted === NOBODY ? 1 : wanted)).toBe(expected);
  });

  it('leaves to others what was not taken upon the news, and keeps what was', () => {
    const { endpoint, share, most } = world([{ wants: false }, { wants: false }]);
    share.noteNews([endpoint], 0, 1);
    endpoint.ownPlaces = 2;
    share.settle([endpoint]);
    // Two that it has, and a third of the six that are left.
    expect(most()).toBe(4);
  });
});
