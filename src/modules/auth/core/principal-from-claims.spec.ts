import { BandNames } from '../../../common/band-names.js';
import { principalFromClaims, type IdentityPolicy } from './principal-from-claims.js';

const bands = new BandNames(['platinum', 'gold', 'bronze'], 'gold');
const HERE = 'https://id.test/o/here/';
const THERE = 'https://id.test/o/there/';
const ONE: IdentityPolicy = {
  tenantClaim: 'sub',
  bandClaim: 'gateway_band',
  groupsClaim: 'groups',
  issuers: [{ issuer: HERE, audience: ['gateway'] }],
};
const TWO: IdentityPolicy = {
  ...ONE,
  issuers: [
    { issuer: HERE, audience: ['gateway', 'batch'] },
    { issuer: THERE, audience: ['gateway'] },
  ],
};
const claims = (more: object = {}) => ({ iss: HERE, aud: 'gateway', sub: 'acme', scope: 'llm:chat', ...more });
const principal = (more?: object, policy = ONE) => principalFromClaims(claims(more), policy, bands);

describe('principalFromClaims', () => {
  it('names the tenant as its claim does', () => {
    expect(principal()).toEqual({ tenant: 'acme', band: 'gold', scopes: new Set(['llm:chat']), groups: new Set() });
  });

  it.each([
    ['missing', undefined, 'gold'],
    ['known', 'platinum', 'platinum'],
    ['unknown', 'diamond', 'bronze'],
    ['in another case', 'Platinum', 'bronze'],
    ['repeated', ['platinum', 'platinum'], 'bronze'],
    ['a number', 0, 'bronze'],
    ['null', null, 'bronze'],
    ['an object', { name: 'platinum' }, 'bronze'],
  ])('Z3: a band that is %s', (_name, band, given) => {
    expect(principal({ gateway_band: band }).band).toBe(given);
  });

  it.each([[undefined], [''], [null], [7], [['acme']], [{}]])('Z3: a tenant of %j is refused', (sub) => {
    expect(() => principal({ sub })).toThrow(expect.objectContaining({ status: 401 }) as Error);
  });

  it.each([
    ['absent', undefined, []],
    ['a list with commas', 'llm:chat,llm:embed', ['llm:chat,llm:embed']],
    ['a list of texts', ['llm:chat'], []],
    ['a list of objects', [{ name: 'llm:chat' }], []],
    ['with more space', ' llm:chat  llm:embed ', ['llm:chat', 'llm:embed']],
    ['with other space', 'llm:chat\tllm:embed', ['llm:chat\tllm:embed']],
    ['an object', { 'llm:chat': true }, []],
  ])('Z1: a scope that is %s', (_name, scope, found) => {
    expect([...(principal({ scope }).scopes ?? [])]).toEqual(found);
  });

  it.each([
    [
      ['gpu', 'staff'],
      ['gpu', 'staff'],
    ],
    ['gpu', []],
    [[{ name: 'gpu' }, 7, 'staff'], ['staff']],
    [undefined, []],
  ])('Z2: groups of %j', (groups, found) => {
    expect([...(principal({ groups }).groups ?? [])]).toEqual(found);
  });

  it('Z2: groups are not read where no claim is configured', () => {
    const { groupsClaim: _, ...without } = ONE;
    expect(principal({ groups: ['gpu'] }, without).groups).toEqual(new Set());
  });

  it('Z5: one sub of two issuers or audiences is two consumers', () => {
    const tenants = [
      principal({}, TWO),
      principal({ aud: 'batch' }, TWO),
      principal({ aud: ['other', 'batch'] }, TWO),
      principal({ iss: THERE }, TWO),
    ].map(({ tenant }) => tenant);
    expect(tenants).toEqual([`acme@${HERE}#gateway`, `acme@${HERE}#batch`, `acme@${HERE}#batch`, `acme@${THERE}`]);
  });

  it('Z5: no sub of one issuer can pass for that of another', () => {
    expect(principal({ sub: `acme@${THERE}` }, TWO).tenant).toBe(`acme@${THERE}@${HERE}#gateway`);
  });

  it.each([
    ['too long', 'x'.repeat(129)],
    ['with space', 'Jane Doe'],
    ['with a line break', 'a\n{"level":60}'],
    ['with other letters', 'müller'],
    ['that of nobody', 'anonymous'],
    ['like a hash', 'sha256:abc'],
  ])('Z6: a name that is %s is hashed', (_name, sub) => {
    const { tenant } = principal({ sub });
    expect(tenant).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(principal({ sub: `${sub}.` }).tenant).not.toBe(tenant);
  });

  it('reads own claims only', () => {
    expect(() => principal({}, { ...ONE, tenantClaim: 'constructor' })).toThrow(
      expect.objectContaining({ status: 401 }) as Error,
    );
  });
});
