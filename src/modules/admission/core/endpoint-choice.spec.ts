import type { Candidate, PoolView } from './admission-tests.js';
import { EndpointChoice } from './endpoint-choice.js';
import { EndpointLedger } from './endpoint-ledger.js';
import type { PoolPolicy } from './pool-types.js';

const POLICY: PoolPolicy = {
  name: 'up',
  bands: [{ name: 'gold', ceiling: 1, capacity: 8, ttlMs: 1000 }],
  defaultBand: 0,
  limit: 8,
  slotsPerEndpoint: 1,
  retryAfterMs: 1000,
  strictReserve: false,
  generates: false,
  gauges: undefined,
};
const CANDIDATE: Candidate = {
  band: 0,
  kind: 'light',
  places: 1,
  kvTokens: 0,
  estimateMs: 0,
  waitedMs: 0,
  reserves: false,
};
const NOW = 1000;

/** Endpoints, each full or down or both. */
function choose(...states: readonly { readonly full?: boolean; readonly down?: boolean }[]) {
  const endpoints = states.map(({ full, down }, at) => {
    const ledger = new EndpointLedger(`e${at}`, 1);
    if (full === true) ledger.places = 1;
    if (down === true) ledger.refuse(NOW);
    return ledger;
  });
  const lane = endpoints.find(({ downUntil }) => NOW >= downUntil) ?? endpoints[0];
  const around = {
    topBandAround: false,
    longWaits: false,
    reserved: undefined,
    share: undefined,
    starved: () => false,
  };
  const view: PoolView = { policy: POLICY, now: NOW, endpoints, lane, ...around };
  return new EndpointChoice(POLICY).choose(CANDIDATE, view, -Infinity);
}

it('names what holds it on an endpoint that serves, whichever comes last', () => {
  expect(choose({ full: true }, { down: true })).toMatchObject({ endpoint: undefined, heldBy: 'count' });
  expect(choose({ down: true }, { full: true })).toMatchObject({ endpoint: undefined, heldBy: 'count' });
});

it('says that none is ready only where there is none', () => {
  expect(choose()).toMatchObject({ endpoint: undefined, heldBy: 'ready' });
  expect(choose({ full: true }, {})).toMatchObject({ endpoint: { id: 'e1' } });
});
