import {
  baseUrl,
  browserOrigin,
  hostAndPort,
  network,
  originUrl,
  parseHostPort,
  parseNetwork,
  storeOr,
  webUrl,
} from './addresses.js';

const RULES = { hostAndPort, network, originUrl, browserOrigin, webUrl, baseUrl, store: storeOr('none', 'peers') };

const GOOD: Readonly<Record<keyof typeof RULES, readonly string[]>> = {
  hostAndPort: ['0.0.0.0:8080', 'localhost:0', '[::1]:9090', '[::]:65535', 'api-gateway-headless.api:9090', 'my_pod:1'],
  network: ['10.0.0.0/8', '127.0.0.1', '::1', 'fd00::/8', '::ffff:10.0.0.1/128', '0.0.0.0/0', '::/0'],
  originUrl: ['http://a', 'https://a.b:8443', 'http://[::1]:80/', 'http://reasoning-predictor.llm-serving:80'],
  browserOrigin: ['https://console.example', 'http://localhost:3000'],
  webUrl: ['https://a/application/o/x/', 'http://127.0.0.1:9/jwks?v=1'],
  baseUrl: ['https://a/', 'http://a/problems/'],
  store: ['none', 'peers', 'redis://redis:6379/0', 'redis://user:pass@redis', 'redis://[::1]:6379'],
};

const BAD: Readonly<Record<keyof typeof RULES, readonly unknown[]>> = {
  hostAndPort: [':8080', 'localhost', 'localhost:', 'a:65536', '::1:80', '[::g]:80', '[1.2.3.4]:80', '999.1.1.1:80', 'a b:80', 'http://a:80', 80, null],
  network: ['10.0.0.0/33', '10.0.0', '10.0.0.0/', '::/129', 'fe80::1%eth0', 'localhost', '1.2.3.4/8/8', '01.2.3.4', ':::'],
  originUrl: ['ftp://a', 'http://', 'http://a/path', 'http://a?x', 'http://a#x', 'http://u:p@a', 'http://u@a', 'http://a\\b', 'a:80', 'http://a:99999', ' http://a'],
  browserOrigin: ['https://a/', 'https://A.example', 'http://a:80', '*', 'null'],
  webUrl: ['https://u:p@a/', 'https://a/#x', 'file:///etc/passwd', 'https://', 'https:///a', 'not a url'],
  baseUrl: ['https://a', 'https://a/x', 'https://a/?q=/', 'https://u@a/'],
  store: ['memory', 'redis', 'redis://', 'redis:redis', 'http://redis', 'redis://h:1/x', 'redis://h:1/0?db=2', ''],
}; // prettier-ignore

const casesOf = <Value>(table: Readonly<Record<keyof typeof RULES, readonly Value[]>>) =>
  Object.entries(RULES).flatMap(([name, rule]) => {
    return table[name as keyof typeof RULES].map((value) => ({ name, rule, value }));
  });

it.each(casesOf(GOOD))('$name takes $value', ({ rule, value }) => {
  expect(rule.accepts(value)).toBe(true);
});

it.each(casesOf(BAD))('$name refuses $value', ({ rule, value }) => {
  expect(rule.accepts(value)).toBe(false);
});

it('splits host and port, and reads networks', () => {
  expect(parseHostPort('[::1]:80')).toEqual({ host: '::1', port: 80 });
  expect(parseNetwork('10.0.0.0/8')).toEqual({ family: 4, prefixLength: 8 });
  expect(parseNetwork('::1')).toEqual({ family: 6, prefixLength: 128 });
});
