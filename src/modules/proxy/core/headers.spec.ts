import {
  engineRequestHeaders,
  forwardingFields,
  proxyRequestHeaders,
  proxyResponseHeaders,
  withoutFields,
} from './headers.js';

const stranger = { address: '203.0.113.9', trusted: false };
const ingress = { address: '10.0.0.7', trusted: true };

const asObject = (flat: readonly string[]): Record<string, string> =>
  Object.fromEntries(flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1] ?? '']] : [])));

const flatten = (fields: Record<string, string>): string[] => Object.entries(fields).flat();

describe('forwardingFields', () => {
  const sent = {
    host: 'api.example',
    'x-forwarded-for': '198.51.100.4',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'public.example',
    forwarded: 'for=198.51.100.4;proto=https',
  };

  it('extends what a trusted proxy says', () => {
    expect(asObject(forwardingFields(sent, ingress))).toEqual({
      'x-forwarded-for': '198.51.100.4, 10.0.0.7',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'public.example',
      forwarded: 'for=198.51.100.4;proto=https, for=10.0.0.7',
    });
  });

  it("replaces a stranger's word by what the gateway sees", () => {
    expect(asObject(forwardingFields(sent, stranger))).toEqual({
      'x-forwarded-for': '203.0.113.9',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'api.example',
    });
  });

  it('quotes an IPv6 address as RFC 7239 wants it', () => {
    const fields = forwardingFields({ host: 'a', forwarded: 'for=b' }, { address: '2001:db8::1', trusted: true });
    expect(asObject(fields)['forwarded']).toBe('for=b, for="[2001:db8::1]"');
  });
});

describe('engineRequestHeaders', () => {
  it('lets a few fields through and none of credentials, routing or encoding', () => {
    const fields = {
      host: 'api.example',
      accept: 'application/json',
      'user-agent': 'OpenAI/JS 7.59.0',
      authorization: 'Bearer secret',
      cookie: 'a=b',
      'x-api-key': 'secret',
      'accept-encoding': 'gzip',
      'x-stainless-lang': 'js',
      traceparent: '00-1-2-01',
      'x-llmgw-band': 'platinum',
    };
    expect(asObject(engineRequestHeaders(fields, stranger, { requestId: 'r1' }))).toEqual({
      'content-type': 'application/json',
      'x-request-id': 'r1',
      accept: 'application/json',
      'user-agent': 'OpenAI/JS 7.59.0',
      traceparent: '00-1-2-01',
      'x-forwarded-for': '203.0.113.9',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'api.example',
    });
  });
});

describe('proxyRequestHeaders', () => {
  const pass = (fields: Record<string, string>, forward?: string[]): Record<string, string> =>
    asObject(proxyRequestHeaders(flatten(fields), fields, stranger, { requestId: 'r1' }, forward));

  it.each([
    ['connection', 'x-mine'],
    ['keep-alive', 'timeout=5'],
    ['te', 'trailers'],
    ['trailer', 'x'],
    ['upgrade', 'h2c'],
    ['proxy-authorization', 'x'],
    ['http2-settings', 'x'],
    ['expect', '100-continue'],
    ['content-length', '3'],
    ['authorization', 'x'],
    ['cookie', 'x'],
    ['x-api-key', 'x'],
    ['x_api_key', 'x'],
    ['x-llmgw-session', 'x'],
    ['x_llmgw_band', 'platinum'],
    ['x-original-url', '/'],
    ['x-rewrite-url', '/'],
    ['x-http-method-override', 'GET'],
    ['x-forwarded-prefix', '/'],
    ['x-real-ip', '1'],
    ['x-authentik-jwt', 'x'],
    ['x-consumer-username', 'x'],
  ])('keeps %s to itself', (name, value) => {
    expect(Object.keys(pass({ host: 'a', [name]: value, 'x-own': '1' }))).not.toContain(name);
  });

  it('drops what Connection names, but not what the body needs', () => {
    const fields = {
      host: 'a',
      connection: 'x-mine, Content-Type, close',
      'x-mine': '1',
      'content-type': 'text/plain',
      'x-own': '2',
    };
    const passed = pass(fields);
    expect(passed).toMatchObject({ 'content-type': 'text/plain', 'x-own': '2' });
    expect(passed).not.toHaveProperty('x-mine');
  });

  it('lets a credential cross where the prefix names it', () => {
    expect(pass({ host: 'a', cookie: 'a=b', authorization: 'x' }, ['cookie'])).toMatchObject({ cookie: 'a=b' });
    expect(pass({ host: 'a', cookie: 'a=b', authorization: 'x' }, ['cookie'])).not.toHaveProperty('authorization');
  });
});

describe('withoutFields', () => {
  it('leaves out the named fields with their values, however they are spelled', () => {
    const raw = ['X-Lane', 'a', 'x_lane', 'b', 'X-Other', 'x-lane', 'x-who', 'c'];
    expect(withoutFields(raw, new Set(['x-lane', 'x-who']))).toEqual(['X-Other', 'x-lane']);
  });

  it('hands on the same list where there is none of them', () => {
    const raw = ['X-Other', 'x-lane'];
    expect(withoutFields(raw, new Set(['x-lane']))).toBe(raw);
  });
});

describe('proxyResponseHeaders', () => {
  it('keeps what an upstream says about itself and its connection', () => {
    const fields = {
      'content-type': 'text/html',
      'content-length': '5',
      connection: 'x-mine',
      'x-mine': '1',
      server: 'x',
      'x-powered-by': 'x',
      'set-cookie': ['a=1', 'b=2'],
      'x-accel-redirect': '/etc/passwd',
      'alt-svc': 'h3',
      trailer: 'x',
      etag: '"1"',
    };
    expect(asObject(proxyResponseHeaders(fields, undefined))).toEqual({
      'content-type': 'text/html',
      'content-length': '5',
      etag: '"1"',
    });
    expect(proxyResponseHeaders(fields, ['set-cookie'])).toEqual(
      expect.arrayContaining(['set-cookie', 'a=1', 'set-cookie', 'b=2']),
    );
  });
});
