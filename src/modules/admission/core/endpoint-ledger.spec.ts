import { EndpointLedger, type LeaseEntry } from './endpoint-ledger.js';

const entry = (grantedAt: number, places = 1): LeaseEntry => ({
  band: 1,
  kind: 'light',
  places,
  estimateMs: 100,
  promptTokens: 50,
  uncachedTokens: 50,
  kvTokens: 64,
  grantedAt,
  visible: true,
  firstTokenAt: undefined,
  remote: false,
  at: 0,
  unseen: false,
});

const reading = (takenAtMs: number, running: number) => ({ takenAtMs, running, waiting: 0 });

describe('EndpointLedger: places by the gauges', () => {
  it('knows nothing without a reading', () => {
    const ledger = new EndpointLedger('10.0.0.1:80', 4);
    ledger.grant(entry(0));
    expect([ledger.gaugedPlaces(), ledger.occupied()]).toEqual([undefined, 1]);
  });

  it('adds what was granted since, each grant for itself', () => {
    const ledger = new EndpointLedger('10.0.0.1:80', 4);
    ledger.read(reading(1000, 2));
    const [one, other] = [entry(1500), entry(1500, 2)];
    ledger.grant(one);
    ledger.grant(other);
    expect(ledger.gaugedPlaces()).toBe(5);
    ledger.release(one, 1600);
    expect(ledger.gaugedPlaces()).toBe(4);
  });

  it('takes off what the reading showed and has ended since', () => {
    const ledger = new EndpointLedger('10.0.0.1:80', 4);
    const old = entry(100);
    ledger.grant(old);
    ledger.read(reading(1000, 3));
    ledger.release(old, 1100);
    expect(ledger.gaugedPlaces()).toBe(2);
  });

  it('counts what was granted too shortly before the first reading to show in it', () => {
    const ledger = new EndpointLedger('10.0.0.1:80', 4);
    ledger.grant(entry(100));
    ledger.grant(entry(980));
    ledger.read(reading(1000, 1));
    expect(ledger.gaugedPlaces()).toBe(2);
  });
});
