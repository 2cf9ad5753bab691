import { nearKey } from './near-key.js';

const KEYS = ['listen', 'management', 'headersTimeout', 'id', 'ttl'];

it.each([
  ['lisen', 'listen'],
  ['Listen', 'listen'],
  ['headerTimeout', 'headersTimeout'],
  ['headerstimeout', 'headersTimeout'],
  ['ids', 'id'],
  ['tll', 'ttl'],
  ['ttls', 'ttl'],
  ['xy', undefined],
  ['timeout', undefined],
  ['', undefined],
])('%j is meant as %j', (unknown, meant) => {
  expect(nearKey(unknown, KEYS)).toBe(meant);
});
