import { prefixOf } from '../../../common/prefix-of.js';
import { upstreamTarget } from './prefix-table.js';

const prefixes = [
  { prefix: '/cluster', stripPrefix: true },
  { prefix: '/db/read', stripPrefix: false },
];

describe('prefixOf', () => {
  it.each([
    ['/cluster', '/cluster'],
    ['/cluster/', '/cluster'],
    ['/cluster/nodes', '/cluster'],
    ['/db/read/x', '/db/read'],
    ['/clusters', undefined],
    ['/Cluster', undefined],
    ['/db', undefined],
    ['/', undefined],
  ])('%s lies in %s', (path, prefix) => {
    expect(prefixOf(path, prefixes)?.prefix).toBe(prefix);
  });
});

describe('upstreamTarget', () => {
  const strip = { prefix: '/cluster', stripPrefix: true };

  it.each([
    ['/cluster', '/'],
    ['/cluster?a=1', '/?a=1'],
    ['/cluster/nodes/a%20b?x=%2F', '/nodes/a%20b?x=%2F'],
  ])('%s is sent as %s', (target, sent) => {
    expect(upstreamTarget(target, target.split('?')[0] ?? '', strip)).toBe(sent);
  });

  it('keeps the prefix where it is not stripped', () => {
    expect(upstreamTarget('/db/read/x', '/db/read/x', { prefix: '/db/read', stripPrefix: false })).toBe('/db/read/x');
  });

  it.each([
    '/cluster/%2e%2e/x',
    '/cluster/a%2Fb',
    '/cluster/a%5cb',
    '/cluster/%00',
    '/cluster/%252e',
    '/cluster/%ff',
    '/cluster/a/../b',
  ])('refuses %s', (target) => {
    expect(() => upstreamTarget(target, target, strip)).toThrow(
      expect.objectContaining({ code: 'invalid-request-head' }),
    );
  });
});
