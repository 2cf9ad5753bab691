import { CHAT, chatBody, contentOf, EdgeWorld, expectProblem } from '../support/edge-world.js';
import { completionOf, jsonAnswer, type WireAnswer } from '../support/wire-upstream.js';

const BOTH = [[CHAT], ['/plain/x']];

/** Header fields on their way back: what an upstream says, and how it says it. */
describe('header fields of an answer', () => {
  let world: EdgeWorld;
  let usual: WireAnswer;

  beforeAll(async () => {
    world = await EdgeWorld.start();
    usual = world.upstream.answer;
  }, 60_000);

  afterAll(() => world.stop());

  afterEach(async () => {
    world.upstream.answer = usual;
    expect(await world.canary('after')).toBe('mark-after');
    expect(await world.slotsInUse()).toBe(0);
  });

  /** The answer to a request whose upstream adds fields to its own. */
  const answered = (path: string, fields: readonly string[], status = '200 OK') => {
    world.upstream.answer = (request) => jsonAnswer(completionOf(request), status, fields);
    return world.post(chatBody('down'), path);
  };

  // prettier-ignore
  it.each(BOTH)('H3: fields of the connection do not reach the client: %s', async (path) => {
    const response = await answered(path, [
      'Keep-Alive: timeout=5', 'Proxy-Connection: keep-alive', 'Proxy-Authenticate: Basic', 'TE: trailers', 'Trailer: X-A',
      'Connection: keep-alive, X-Named, X-Other', 'X-Named: evil', 'X-Other: evil', 'HTTP2-Settings: evil',
    ]);
    expect(contentOf(response)).toBe('mark-down');
    const names = response.headers.map(([name]) => name.toLowerCase());
    const hidden = ['proxy-connection', 'proxy-authenticate', 'te', 'trailer', 'x-named', 'x-other', 'http2-settings', 'upgrade'];
    expect(names.filter((name) => hidden.includes(name))).toEqual([]);
    expect(names.filter((name) => name === 'content-length' || name === 'transfer-encoding')).toHaveLength(1);
    expect(response.header('keep-alive')).not.toBe('timeout=5, timeout=5');
  });

  // prettier-ignore
  it.each(BOTH)('H7: what an upstream says about itself does not reach the client: %s', async (path) => {
    const response = await answered(path, [
      'Server: evil', 'X-Powered-By: evil', 'X-Accel-Redirect: /evil', 'X-Accel-Buffering: evil', 'Alt-Svc: evil', 'Set-Cookie: evil=1',
      'Set-Cookie: evil=2', 'Strict-Transport-Security: max-age=1', 'WWW-Authenticate: evil', 'X-Request-Id: evil', 'X-Llmgw-Queue-Ms: 666',
    ]);
    expect(response.status).toBe(200);
    // A request id of the gateway's own may hold any digits.
    const others = response.headers.filter(([name]) => name.toLowerCase() !== 'x-request-id');
    expect(JSON.stringify(others)).not.toMatch(/evil|666|max-age=1/);
    expect(response.header('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('H7: an engine hands on an allow-list, a prefix the rest', async () => {
    const custom = ['X-Custom: a', 'ETag: "x"', 'Access-Control-Allow-Origin: *', 'Content-Disposition: inline'];
    const names = (response: { headers: readonly (readonly [string, string])[] }) =>
      response.headers.map(([name]) => name.toLowerCase()).sort();
    expect(names(await answered(CHAT, [...custom, 'Retry-After: 7']))).toEqual([
      'connection',
      'content-length',
      'content-type',
      'date',
      'keep-alive',
      'retry-after',
      'x-request-id',
    ]);
    const plain = await answered('/plain/x', custom);
    expect(custom.map((line) => plain.header(line.split(':')[0]?.toLowerCase() ?? ''))).toEqual([
      'a',
      '"x"',
      '*',
      'inline',
    ]);
  });

  it('H7: cookies cross on the prefix that names them, each on its own', async () => {
    const response = await answered('/kept/x', ['Set-Cookie: a=1', 'Set-Cookie: b=2; Path=/', 'Server: evil']);
    expect(response.headers.filter(([name]) => name.toLowerCase() === 'set-cookie').map(([, value]) => value)).toEqual([
      'a=1',
      'b=2; Path=/',
    ]);
    expect(response.header('server')).toBeUndefined();
  });

  describe.each(BOTH)('H4: odd but legal: %s', (path) => {
    it.each([
      ['a trailer beside a length', ['Trailer: X-Checksum']],
      ['another protocol, not switched to', ['Connection: Upgrade', 'Upgrade: h2c']],
      ['empty values', ['X-Empty:', 'X-Blank: \t ']],
      ['repeated fields', ['X-A: 1', 'X-A: 2', 'Vary: a', 'Vary: b']],
      ['names of every object', ['__proto__: x', 'constructor: y', 'toString: z']],
      ['bytes beyond ASCII', ['X-Latin: caf\u00e9', 'X-Umlaut: \u00fc']],
      ['many fields', Array.from({ length: 150 }, (_, index) => `X-A${String(index)}: b`)],
      ['a long value', [`X-Long: ${'a'.repeat(20_000)}`]],
      ['two dates', ['Date: Thu, 01 Jan 1970 00:00:00 GMT', 'Date: Thu, 01 Jan 1970 00:00:01 GMT']],
      ['strange names', ["!#$%&'*+-.^_`|~: x", '0: 1']],
    ])('%s', async (_, fields) => {
      world.upstream.answer = (request) => Buffer.from(jsonAnswer(completionOf(request), '200 OK', fields), 'latin1');
      expect(contentOf(await world.post(chatBody('odd'), path))).toBe('mark-odd');
    });

    it.each([
      ['without a reason', 'HTTP/1.1 200 '],
      ['with a strange reason', 'HTTP/1.1 200 Caf\u00e9 (very fine)'],
      ['in HTTP/1.0', 'HTTP/1.0 200 OK'],
    ])('a status line %s', async (_, line) => {
      world.upstream.answer = (request, socket) => {
        socket.end(Buffer.from(jsonAnswer(completionOf(request)).replace('HTTP/1.1 200 OK', line), 'latin1'));
        return undefined;
      };
      const response = await world.post(chatBody('line'), path);
      expect(contentOf(response)).toBe('mark-line');
      expect(response.reason).toBe('OK');
    });
  });

  describe.each(BOTH)('H14: what is no answer is answered 502: %s', (path) => {
    it.each([
      ['a head over the limit', ['X-Long: ' + 'a'.repeat(70_000)]],
      ['far too many fields', Array.from({ length: 10_000 }, (_, index) => `X-A${String(index)}: b`)],
      ['a folded field', ['X-A: evil', ' evil']],
      ['a control byte', ['X-A: evil\x01']],
      ['NUL', ['X-A: evil\0']],
      ['a bare CR', ['X-A: evil\rX-B: evil']],
      ['a space before the colon', ['X-A : evil']],
      ['a line without a colon', ['evil']],
      ['a name with a control byte', ['X\x01A: evil']],
    ])('%s', async (_, fields) => {
      const response = await answered(path, fields);
      expectProblem(response, 502);
      expect(JSON.stringify(response.headers) + response.text()).not.toMatch(/evil|aaaa|X-A/i);
    });
  });

  it('H13: nothing that an upstream says can split an answer', async () => {
    const response = await answered('/plain/x', ['X-A: a%0d%0aSet-Cookie: evil=1', 'X-B: \u0160\u0161\u010d']);
    for (const [, value] of response.headers) expect(value).toMatch(/^[\t\x20-\x7e\x80-\xff]*$/);
    expect(response.header('set-cookie')).toBeUndefined();
  });

  it('X3, H4: and the process is the same that it was', async () => {
    expect((await world.ask({ method: 'GET', path: '/healthz' })).status).toBe(200);
    expect(world.gateway.logs().filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });
});
