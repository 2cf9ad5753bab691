import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '../../../test/support/fake-clock.js';
import { AdmissionPeers } from './admission-peers.js';
import { parseLedgers } from './core/parse-ledgers.js';
import type { SharedLease, SharedLedger } from './core/shared-ledger.js';
import { MAX_LEDGER_BYTES } from './peers-client.js';
import { PeersSecret } from './peers-secret.js';

const LEASE: SharedLease = {
  ...{ endpoint: '10.0.0.1:80', band: 0, places: 1, kvTokens: 64, promptTokens: 60, estimateMs: 120, grantedAgoMs: 3 },
  kind: 'light',
};

const ledgerOf = (tenants: number): SharedLedger => ({
  epoch: 'a',
  leases: [LEASE],
  service: [Array.from({ length: tenants }, (_, at) => [`tenant-${String(at)}`, 12] as const)],
  starts: [Array.from({ length: tenants }, (_, at) => at)],
  backlog: [],
});

const folder = mkdtempSync(join(tmpdir(), 'peers-'));
const file = join(folder, 'secret');
writeFileSync(file, 'of the gateways');
afterAll(() => rmSync(folder, { recursive: true }));

/** What another gateway is answered that has as many pools. */
function answered(pools: number, tenants: number): string {
  const secret = new PeersSecret(file);
  const shared = new Map(Array.from({ length: pools }, (_, at) => [`pool-${String(at)}`, ledgerOf(tenants)]));
  const ledgers = { shared: () => shared, remote: () => undefined, afterNews: () => undefined };
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const [name, clock] = ['gateways:9090', new FakeClock()];
  const peers = new AdmissionPeers({ epoch: 'a', name, replicas: 2, secret, ledgers, clock, log });
  return peers.answer(`Bearer ${secret.bearer}`) ?? '';
}

describe('what another gateway is answered', () => {
  it('is all of it where there is room', () => {
    expect(parseLedgers(answered(2, 256)).pools.get('pool-1')).toEqual(ledgerOf(256));
  });

  it('is what is held, and of service nothing at all, where there is not', () => {
    const answer = answered(100, 256);
    expect(Buffer.byteLength(answer)).toBeLessThan(MAX_LEDGER_BYTES);
    const { pools } = parseLedgers(answer);
    expect(pools.size).toBe(100);
    expect(pools.get('pool-99')).toEqual({ ...ledgerOf(0), service: [], starts: [] });
  });
});
