import { BandNames } from '../../../common/band-names.js';
import { callerFromHeaders, type HeaderPolicy } from './caller-from-headers.js';

const bands = new BandNames(['platinum', 'gold', 'bronze'], 'gold');
const lower: HeaderPolicy = { bandHeader: 'x-llmgw-band', tenantHeader: 'x-llmgw-session', bandHeaderTrust: 'lower' };
const caller = (fields: Record<string, string | string[]>, trusted = true, policy = lower) =>
  callerFromHeaders(fields, trusted, policy, bands);

describe('callerFromHeaders', () => {
  it('believes a stranger nothing', () => {
    const found = caller({ 'x-llmgw-band': 'platinum', 'x-llmgw-session': 'acme' }, false);
    expect(found).toEqual({ tenant: 'anonymous', band: 'gold', scopes: undefined });
  });

  it('takes tenant and a lower band from a trusted proxy', () => {
    const found = caller({ 'x-llmgw-band': 'bronze', 'x-llmgw-session': 'acme' });
    expect(found).toEqual({ tenant: 'acme', band: 'bronze', scopes: undefined });
  });

  it.each([
    ['a higher band', 'platinum', 'gold'],
    ['an unknown band', 'diamond', 'bronze'],
    ['a band in another case', 'Platinum', 'bronze'],
    ['an empty band', '', 'bronze'],
  ])('never raises a band: %s', (_name, asked, given) => {
    expect(caller({ 'x-llmgw-band': asked }).band).toBe(given);
  });

  it('gives the lowest band to one that is asked for twice', () => {
    expect(caller({ 'x-llmgw-band': ['platinum', 'platinum'] }).band).toBe('bronze');
  });

  it('believes any known band where the configuration says so', () => {
    expect(caller({ 'x-llmgw-band': 'platinum' }, true, { ...lower, bandHeaderTrust: 'any' }).band).toBe('platinum');
  });

  it.each([
    ['white space', 'a b'],
    ['nothing', ''],
    ['too much', 'x'.repeat(129)],
  ])('a tenant of %s is nobody', (_name, tenant) => {
    expect(caller({ 'x-llmgw-session': tenant }).tenant).toBe('anonymous');
  });
});
