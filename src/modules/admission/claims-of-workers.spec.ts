import { Line } from '../workers/line.js';
import { ClaimsOfWorkers } from './claims-of-workers.js';
import type { Claim, SharedLedger } from './core/shared-ledger.js';
import { CLAIM_STEPS, OWN_LEDGERS, WATCH_SIBLINGS, type ClaimStep } from './worker-topics.js';

const size = { band: 0, kind: 'light' as const, promptTokens: 10, estimateMs: 10, grantedAgoMs: 0 };
const claimOf = (id: string): Claim => ({
  id,
  lease: { endpoint: 'a:80', places: 1, kvTokens: 0, ...size },
  endpointPlaces: 2,
  poolPlaces: 2,
  whenIdle: false,
});
const ledger: SharedLedger = { epoch: 'e', leases: [], service: [], backlog: [] };

function joined(claims: ClaimsOfWorkers, peer: string) {
  const said: { llmgw: string; body: unknown }[] = [];
  const line = new Line((message) => said.push(message as { llmgw: string; body: unknown }));
  claims.join(line, peer);
  const steps = (...body: ClaimStep[]): unknown => {
    line.take({ llmgw: CLAIM_STEPS.name, body });
    return said.splice(0).map(({ body: answer }) => answer);
  };
  const claim = (...ids: string[]): unknown => steps(...ids.map((id) => ({ pool: 'up', claim: claimOf(id) })));
  return { line, said, steps, claim };
}

describe('the places of workers, in their primary', () => {
  it('are given while there are any, whoever asks, and answered together', () => {
    const claims = new ClaimsOfWorkers(['up']);
    const one = joined(claims, 'one');
    const two = joined(claims, 'two');
    expect(one.claim('1')).toEqual([[['1', true]]]);
    expect(two.claim('2', '3')).toEqual([[['2', true], ['3', false]]]); // prettier-ignore
    expect(one.steps({ pool: 'up', release: '1' }, { pool: 'up', claim: claimOf('4') })).toEqual([[['4', true]]]);
    expect(one.steps({ pool: 'up', release: '4' })).toEqual([]);
  });

  it('come back at once when their worker has gone, and only its own', () => {
    const claims = new ClaimsOfWorkers(['up']);
    const one = joined(claims, 'one');
    const two = joined(claims, 'two');
    one.claim('1');
    two.claim('2');
    claims.leave(one.line);
    claims.leave(one.line);
    expect(two.claim('3', '4')).toEqual([[['3', true], ['4', false]]]); // prettier-ignore
  });

  it('are told of to siblings that watch: what there is, what is new, and that one has gone', () => {
    const claims = new ClaimsOfWorkers(['up']);
    const one = joined(claims, 'one');
    const two = joined(claims, 'two');
    const three = joined(claims, 'three');
    one.line.take({ llmgw: OWN_LEDGERS.name, body: { up: ledger } });
    two.line.take({ llmgw: WATCH_SIBLINGS.name, body: null });
    one.line.take({ llmgw: OWN_LEDGERS.name, body: { down: ledger } });
    claims.leave(one.line);
    expect(two.said.map(({ body }) => body)).toEqual([
      { peer: 'one', ledgers: { up: ledger } },
      { peer: 'three', ledgers: {} },
      { peer: 'one', ledgers: { down: ledger } },
      { peer: 'one' },
    ]);
    expect([one.said, three.said]).toEqual([[], []]);
  });
});
