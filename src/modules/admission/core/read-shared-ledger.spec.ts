import fc from 'fast-check';
import { isSharedLedger, sharedLedgerFrom } from './read-shared-ledger.js';
import type { SharedLedger } from './shared-ledger.js';

const LEDGER: SharedLedger = {
  epoch: 'a1',
  leases: [
    {
      endpoint: '10.0.0.1:80',
      band: 0,
      kind: 'long',
      places: 1,
      kvTokens: 64,
      promptTokens: 60,
      estimateMs: 120.5,
      grantedAgoMs: 3,
      firstTokenAgoMs: 1,
    },
  ],
  service: [[['tenant', 12.5]], []],
  starts: [[7], []],
  backlog: [{ band: 1, kind: 'light', tenant: 'tenant', counter: 3, waitedMs: 10, wantsPlace: true }],
  kept: { endpoint: '10.0.0.1:80', band: 1, places: 4, waitedMs: 900 },
  topBandAgoMs: 5,
};

describe('sharedLedgerFrom', () => {
  it('reads what a gateway writes', () => {
    expect(sharedLedgerFrom(JSON.stringify(LEDGER))).toEqual(LEDGER);
  });

  it('reads what a gateway writes that numbers no counts, or has no room for them', () => {
    const { starts, ...earlier } = LEDGER;
    expect(starts).toBeDefined();
    for (const ledger of [earlier, { ...LEDGER, service: [] }])
      expect(sharedLedgerFrom(JSON.stringify(ledger))).toEqual(ledger);
  });

  it.each([
    ['no JSON', '{'],
    ['no object', '[]'],
    ['no epoch', JSON.stringify({ ...LEDGER, epoch: 7 })],
    ['a lease below nothing', JSON.stringify({ ...LEDGER, leases: [{ ...LEDGER.leases[0], places: -1 }] })],
    ['a lease of no class', JSON.stringify({ ...LEDGER, leases: [{ ...LEDGER.leases[0], kind: 'huge' }] })],
    ['a band that is none', JSON.stringify({ ...LEDGER, backlog: [{ ...LEDGER.backlog[0], band: 0.5 }] })],
    ['a name without end', JSON.stringify({ ...LEDGER, service: [[['x'.repeat(301), 1]]] })],
    ['a count of nobody', JSON.stringify({ ...LEDGER, starts: [[7, 8], []] })],
    ['a count that is none', JSON.stringify({ ...LEDGER, starts: [['first'], []] })],
    ['too much', JSON.stringify({ ...LEDGER, backlog: Array.from({ length: 20_001 }, () => LEDGER.backlog[0]) })],
    ['an endpoint kept clear for nothing', JSON.stringify({ ...LEDGER, kept: { ...LEDGER.kept, places: 'some' } })],
    ['an age that is none', JSON.stringify({ ...LEDGER, topBandAgoMs: 'long' })],
  ])('takes nothing of %s', (_, json) => {
    expect(sharedLedgerFrom(json)).toBeUndefined();
  });

  it('never throws, whatever it is given', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => typeof isSharedLedger(value) === 'boolean'));
  });
});
