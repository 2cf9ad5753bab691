import { upgradeRequestFields, upgradeResponseLines } from './websocket-headers.js';

const PEER = { address: '203.0.113.9', trusted: false };

function requestFrom(...rawHeaders: string[]) {
  const headers: Record<string, string> = {};
  for (let i = 0; i + 1 < rawHeaders.length; i += 2)
    headers[(rawHeaders[i] ?? '').toLowerCase()] = rawHeaders[i + 1] ?? '';
  return { rawHeaders, headers };
}

describe('upgradeRequestFields', () => {
  it('leaves the handshake to the client of the upstream, in any spelling', () => {
    const request = requestFrom(
      'Upgrade',
      'websocket',
      'Sec-WebSocket-Key',
      'k',
      'sec_websocket_protocol',
      'p',
      'Origin',
      'https://a.example',
    );
    const fields = upgradeRequestFields(request, PEER, { requestId: 'id-1' }, undefined);
    expect([...fields.keys()]).toEqual([
      'origin',
      'x-request-id',
      'x-forwarded-for',
      'x-forwarded-proto',
      'x-forwarded-host',
    ]);
    expect(fields.get('origin')).toEqual(['https://a.example']);
  });

  it('keeps every value of a repeated field', () => {
    const fields = upgradeRequestFields(requestFrom('X-A', '1', 'x-a', '2'), PEER, { requestId: 'id-1' }, undefined);
    expect(fields.get('x-a')).toEqual(['1', '2']);
  });
});

describe('upgradeResponseLines', () => {
  it('hands on what is not the handshake’s, the connection’s or withheld', () => {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-accept': 'x',
      'set-cookie': ['a=1', 'b=2'],
      server: 'x',
      'content-length': '0',
      'x-session': '7',
      'x-name': 'gr\u00fc\u00df',
    };
    expect(upgradeResponseLines(headers, undefined)).toEqual(['x-session: 7']);
    expect(upgradeResponseLines(headers, ['set-cookie'])).toEqual([
      'set-cookie: a=1',
      'set-cookie: b=2',
      'x-session: 7',
    ]);
  });
});
