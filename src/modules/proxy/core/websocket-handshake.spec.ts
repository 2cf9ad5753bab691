import { GatewayProblem } from '../../../common/problem/gateway-problem.js';
import { parseHandshake, requireOrigin } from './websocket-handshake.js';

const HEADERS = {
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

function problemOf(act: () => unknown): GatewayProblem {
  try {
    act();
  } catch (error) {
    if (error instanceof GatewayProblem) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('parseHandshake', () => {
  it('takes a handshake, whatever the case of its protocol', () => {
    expect(
      parseHandshake({ method: 'GET', httpVersion: '1.1', headers: { ...HEADERS, upgrade: 'WebSocket' } }),
    ).toEqual([]);
  });

  it('gives the subprotocols in their order', () => {
    const headers = { ...HEADERS, 'sec-websocket-protocol': 'v2.channel.k8s.io, base64.v1\t ,x' };
    expect(parseHandshake({ method: 'GET', httpVersion: '1.1', headers })).toEqual([
      'v2.channel.k8s.io',
      'base64.v1',
      'x',
    ]);
  });

  it.each([
    ['another protocol', { upgrade: 'h2c' }],
    ['several protocols', { upgrade: 'websocket, websocket' }],
    ['no protocol', { upgrade: undefined }],
    ['no version', { 'sec-websocket-version': undefined }],
    ['no key', { 'sec-websocket-key': undefined }],
    ['a repeated key', { 'sec-websocket-key': `${HEADERS['sec-websocket-key']}, ${HEADERS['sec-websocket-key']}` }],
    ['a key of 15 bytes', { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25j' }],
    ['a body', { 'content-length': '1' }],
    ['a chunked body', { 'transfer-encoding': 'chunked' }],
    ['an empty subprotocol', { 'sec-websocket-protocol': 'a,,b' }],
    ['a subprotocol that is no token', { 'sec-websocket-protocol': 'a b' }],
    ['white space that is none', { 'sec-websocket-protocol': 'a,\xa0b' }],
    ['a repeated subprotocol', { 'sec-websocket-protocol': 'a,b,a' }],
  ])('refuses %s', (_, fields) => {
    const { code } = problemOf(() =>
      parseHandshake({ method: 'GET', httpVersion: '1.1', headers: { ...HEADERS, ...fields } }),
    );
    expect(code).toBe('invalid-request-head');
  });

  it('refuses HTTP/1.0', () => {
    expect(problemOf(() => parseHandshake({ method: 'GET', httpVersion: '1.0', headers: HEADERS })).status).toBe(400);
  });

  it('tells which version it speaks', () => {
    const problem = problemOf(() =>
      parseHandshake({ method: 'GET', httpVersion: '1.1', headers: { ...HEADERS, 'sec-websocket-version': '8' } }),
    );
    expect([problem.status, problem.options.headers]).toEqual([426, { 'Sec-WebSocket-Version': '13' }]);
  });

  it('tells which method it takes', () => {
    const problem = problemOf(() => parseHandshake({ method: 'POST', httpVersion: '1.1', headers: HEADERS }));
    expect([problem.status, problem.options.headers]).toEqual([405, { Allow: 'GET' }]);
  });
});

describe('requireOrigin', () => {
  const ORIGINS = ['https://console.example'];

  it('checks nothing where nothing is configured, or no browser asks', () => {
    expect(() => requireOrigin(['Origin', 'https://evil.example'], undefined)).not.toThrow();
    expect(() => requireOrigin(['Host', 'x'], ORIGINS)).not.toThrow();
    expect(() => requireOrigin(['Origin', 'https://console.example'], ORIGINS)).not.toThrow();
  });

  it.each([
    'https://evil.example',
    'null',
    '',
    'http://console.example',
    'https://console.example:444',
    'https://CONSOLE.example',
  ])('refuses a page of %j', (origin) => {
    expect(problemOf(() => requireOrigin(['ORIGIN', origin], ORIGINS)).status).toBe(403);
  });

  it('is not fooled by a second one', () => {
    const raw = ['Origin', 'https://console.example', 'origin', 'https://evil.example'];
    expect(problemOf(() => requireOrigin(raw, ORIGINS)).status).toBe(403);
  });
});
