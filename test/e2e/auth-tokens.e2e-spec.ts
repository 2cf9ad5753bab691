import { createHmac, createPublicKey } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { CHAT, chatBody, contentOf, expectProblem } from '../support/edge-world.js';
import { AUDIENCE, issuerKey, SCOPES, type IssuerKey } from '../support/identity-provider.js';
import { IdentityWorld } from '../support/identity-world.js';
import type { JsonObject } from '../support/json.js';
import type { RawResponse } from '../support/raw-client.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const now = (): number => Math.floor(Date.now() / 1000);
const encoded = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

describe('tokens', () => {
  let world: IdentityWorld;
  let stranger: IssuerKey;
  let good: string;

  beforeAll(async () => {
    world = await IdentityWorld.start({ telemetry: { logLevel: 'trace' } }, { maxTokenLifetime: '1h' });
    stranger = await issuerKey('first');
    good = await world.identity.token('svc-chat');
    expect((await world.chat(good)).status).toBe(200);
  }, 60_000);
  afterAll(() => world.stop());

  /** Claims that the request is refused with 401, that the upstream saw nothing of it, and that nothing is given away. */
  async function expectRefused(answer: Promise<RawResponse>, token = ''): Promise<void> {
    const before = world.served;
    const response = await answer;
    expectProblem(response, 401);
    expect(response.header('www-authenticate')).toMatch(/^Bearer/);
    expect(world.served).toBe(before);
    const shown = response.text() + String(response.header('www-authenticate'));
    expect(shown).not.toContain(world.identity.issuer);
    expect(shown).not.toContain(`"${AUDIENCE}"`);
    if (token.length > 20) expect(shown).not.toContain(token.slice(-20));
  }

  const expectRejected = (token: string): Promise<void> => expectRefused(world.chat(token), token);
  const unsigned = (header: object, claims: JsonObject = {}): string =>
    `${encoded(header)}.${encoded(world.identity.claims(claims))}`;

  describe('T1: algorithms', () => {
    it.each(['none', 'None', 'NONE', 'nOnE', '', undefined, null, 7, ['RS256'], 'RS256 ', 'rs256', 'EdDSA'])(
      'alg %j',
      async (alg) => {
        const [, , signature = ''] = good.split('.');
        const head = unsigned({ alg, kid: 'first', typ: 'JWT' });
        await expectRejected(`${head}.${signature}`);
        await expectRejected(`${head}.`);
      },
    );

    it.each(['HS256', 'HS384', 'HS512'])('%s with the public key, its JWK, the client id and nothing', async (alg) => {
      const { publicJwk } = world.identity.key;
      const key = createPublicKey({ key: publicJwk, format: 'jwk' });
      const spki = String(key.export({ type: 'spki', format: 'pem' }));
      const pkcs1 = String(key.export({ type: 'pkcs1', format: 'pem' }));
      for (const secret of [spki, spki.trim(), pkcs1, JSON.stringify(publicJwk), String(publicJwk.n), 'svc-chat', '']) {
        const signed = unsigned({ alg, kid: 'first', typ: 'JWT' });
        const digest = createHmac(`sha${alg.slice(2)}`, secret)
          .update(signed)
          .digest('base64url');
        await expectRejected(`${signed}.${digest}`);
      }
    });

    it('another algorithm than that of the published key', async () => {
      const ec = await issuerKey('first', 'ES256');
      await expectRejected(await world.identity.sign({}, {}, ec));
      const ps = await issuerKey('first', 'PS256');
      await expectRejected(await world.identity.sign({}, {}, ps));
      await expectRejected(await world.identity.sign({}, {}, await issuerKey('first', 'RS512')));
    });
  });

  describe('T2: keys', () => {
    it('a key that is not published, under the id of one that is', async () => {
      await expectRejected(await world.identity.sign({}, {}, stranger));
    });

    it.each(['jwk', 'jku', 'x5u', 'x5c'])('%s in the header is never followed', async (name) => {
      const fetches = world.identity.keySetFetches;
      const evil = 'http://127.0.0.1:9/evil';
      const value = { jwk: stranger.publicJwk, jku: evil, x5u: evil, x5c: ['AQAB'] }[name];
      await expectRejected(await world.identity.sign({}, { [name]: value }, stranger));
      await expectRejected(await world.identity.sign({}, { [name]: value }));
      expect(world.identity.keySetFetches).toBe(fetches);
    });

    it.each([[undefined], [7], [null], [['first']], [''], ['x'.repeat(201)], ['__proto__'], ['../../etc/passwd'], ['/dev/null'], ['constructor'], ["' OR 1=1"]])(
      'the id %j',
      async (kid) => { await expectRejected(await world.identity.sign({}, { kid })); },
    ); // prettier-ignore
  });

  it.each([
    { crit: ['exp'] }, { crit: [], b64: true }, { b64: false }, { crit: ['b64'], b64: false }, { zip: 'DEF' },
  ])('T3: %j in the header', async (header) => {
    const key = world.identity.key;
    const signed = `${encoded({ alg: 'RS256', kid: 'first', ...header })}.${encoded(world.identity.claims())}`;
    const { privateKey } = key;
    const bytes = await crypto.subtle.sign('RSASSA-PKCS1-v1_5', privateKey, Buffer.from(signed));
    await expectRejected(`${signed}.${Buffer.from(bytes).toString('base64url')}`);
  }); // prettier-ignore

  it('T4: another header or payload under the old signature', async () => {
    const [head = '', body = '', signature = ''] = good.split('.');
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as JsonObject;
    await expectRejected(`${head}.${encoded({ ...claims, sub: 'svc-other' })}.${signature}`);
    await expectRejected(`${head}.${encoded({ ...claims, exp: now() + 3000 })}.${signature}`);
    await expectRejected(`${encoded({ alg: 'RS256', kid: 'first', typ: 'JWT' })}.${body}.${signature}`);
  });

  it('T4: what is no token of three segments', async () => {
    const [head = '', body = '', signature = ''] = good.split('.');
    const shapes = [
      ...[`${head}.${body}`, `${head}.${body}.`, `.${body}.${signature}`, `${head}..${signature}`, head, '..', '...'],
      ...[`${good}.`, `.${good}`, `${good}.${signature}`, `${good}.${body}.${signature}`, `${head}.a.b.c.${signature}`],
      ...[good.slice(0, -1), good.slice(0, -20), `${good}A`, `${good}==`, `${good}=`, `${head}.${body}.${signature}!`],
    ];
    for (const shape of shapes) await expectRejected(shape);
  });

  describe('T5: issuer and audience', () => {
    it.each(['/', '/x', '.evil', ''])('an issuer with %j behind it, or of another scheme', async (more) => {
      const { issuer } = world.identity;
      const iss = more === '' ? issuer.replace('http', 'https') : issuer + more;
      await expectRejected(await world.identity.sign({ iss }));
    });

    it('an issuer that is a list, a prefix, missing, or somebody else', async () => {
      const { issuer } = world.identity;
      for (const iss of [[issuer], issuer.slice(0, -1), undefined, null, {}, 'https://elsewhere.test'])
        await expectRejected(await world.identity.sign({ iss }));
    });

    it.each([[undefined], ['gatewa'], ['gateway2'], ['GATEWAY'], [{ gateway: true }], [[]], [['other', 'another']], [null], ['other gateway']])(
      'the audience %j, signed with the same key',
      async (aud) => { await expectRejected(await world.identity.sign({ aud })); },
    ); // prettier-ignore
  });

  it.each<[string, () => JsonObject]>([
    ['no exp', () => ({ exp: undefined })], ['an exp that is text', () => ({ exp: String(now() + 60) })], ['an exp that is null', () => ({ exp: null })],
    ['an exp beyond the longest life', () => ({ exp: now() + 3 * 3600 })], ['an exp in milliseconds', () => ({ exp: Date.now() + 60_000 })],
    ['nbf in the future', () => ({ nbf: now() + 60 })], ['iat in the future', () => ({ iat: now() + 60 })], ['an nbf that is text', () => ({ nbf: '0' })],
    ['no sub', () => ({ sub: undefined })], ['an empty sub', () => ({ sub: '' })], ['a sub that is a number', () => ({ sub: 7 })], ['a sub that is a list', () => ({ sub: ['a'] })],
  ])('T6: %s', async (_, changes) => { await expectRejected(await world.identity.sign(changes())); }); // prettier-ignore

  it.each([['[]'], ['7'], ['"text"'], ['null'], ['not json'], ['{"exp":1e999}']])(
    'T6: the payload %s, well signed',
    async (payload) => {
      const signed = `${encoded({ alg: 'RS256', kid: 'first' })}.${encoded(payload)}`;
      const { privateKey } = world.identity.key;
      const bytes = await crypto.subtle.sign('RSASSA-PKCS1-v1_5', privateKey, Buffer.from(signed));
      await expectRejected(`${signed}.${Buffer.from(bytes).toString('base64url')}`);
    },
  );

  it('T7: ID tokens, refresh tokens and opaque ones', async () => {
    await expectRejected(await world.identity.sign({ at_hash: 'abc', nonce: 'n' }, { typ: 'JWT' }));
    await expectRejected(await world.identity.sign({ nonce: 'n', scope: undefined }));
    await expectRejected(await world.identity.sign({ typ: 'Refresh' }));
    await expectRejected(await world.identity.sign({}, { typ: 'logout+jwt' }));
    for (const opaque of ['Zm9vYmFy', 'f'.repeat(43), 'sk-live-0123456789abcdef']) await expectRejected(opaque);
  });

  it('T8: expired by less than the tolerance: accepted; by more: refused', async () => {
    expect((await world.chat(await world.identity.sign({ exp: now() - 3 }))).status).toBe(200);
    await expectRejected(await world.identity.sign({ exp: now() - 6 }));
  });

  it('T8: a token that was accepted is refused once exp and tolerance are over', async () => {
    const exp = now() - 3;
    const token = await world.identity.sign({ exp });
    expect((await world.chat(token)).status).toBe(200);
    expect((await world.chat(token)).status).toBe(200);
    while (Date.now() < (exp + 5) * 1000) await delay(50);
    await expectRejected(token);
  });

  describe('T9: where a token may stand', () => {
    const post = (headers: readonly (readonly [string, string])[], path = CHAT): Promise<RawResponse> =>
      world.edge.ask({
        method: 'POST',
        path,
        headers: [['content-type', 'application/json'], ...headers],
        body: chatBody('x'),
      });

    it('two Authorization fields are refused as a head that has two readings', async () => {
      const before = world.served;
      for (const second of [good, 'other', '']) {
        const answer = await post([
          ['authorization', `Bearer ${good}`],
          ['authorization', `Bearer ${second}`],
        ]);
        expectProblem(answer, 400);
      }
      expect(world.served).toBe(before);
    });

    it('more text, lists and other schemes', async () => {
      const values = [
        `Bearer ${good} `.concat('more'), `Bearer ${good},`, `Bearer ${good}, Bearer ${good}`, `Bearer ${good}; a=b`, `Bearer Bearer ${good}`,
        `Bearer,${good}`, `Bearer=${good}`, `Bearer"${good}"`, `Bearer "${good}"`, `Token ${good}`, `Basic ${good}`, `JWT ${good}`, `DPoP ${good}`, good, 'Bearer', '',
      ]; // prettier-ignore
      for (const value of values) await expectRefused(post([['authorization', value]]));
    });

    it('P7: query, cookie, body and other fields', async () => {
      await expectRefused(post([], `${CHAT}?access_token=${good}&token=${good}`));
      for (const name of ['cookie', 'x-api-key', 'api-key', 'x-access-token', 'x-authorization', 'proxy-authorization', 'x-forwarded-authorization', 'x-authentik-jwt', 'authorization_'])
        await expectRefused(post([[name, name === 'cookie' ? `token=${good}` : good]]));
      await expectRefused(
        world.edge.post(chatBody('x', { access_token: good, token: good }), CHAT, JSON_TYPE),
      );
    }); // prettier-ignore

    it('x-api-key on /llm carries the same token', async () => {
      const body = JSON.stringify({
        model: 'demo-chat',
        max_tokens: 8,
        messages: [{ role: 'user', content: 'mark-x' }],
      });
      const ask = (headers: Record<string, string>): Promise<RawResponse> =>
        world.edge.post(body, '/llm/v1/messages', { ...JSON_TYPE, 'anthropic-version': '2023-06-01', ...headers });
      expect((await ask({ 'x-api-key': good })).status).toBe(200);
      expect((await ask({ authorization: `Bearer ${good}` })).status).toBe(200);
      expect((await ask({ 'x-api-key': good, authorization: `Bearer ${good}` })).status).toBe(200);
      const other = await world.identity.token('svc-other');
      const before = world.served;
      for (const both of [{ 'x-api-key': other }, { 'x-api-key': 'x' }]) {
        const answer = await ask({ authorization: `Bearer ${good}`, ...both });
        expectProblem(answer, 400);
      }
      const refused = await ask({ 'x-api-key': 'sk-ant-none' });
      expectProblem(refused, 401);
      expect(refused.json()).toMatchObject({ type: 'error', error: { type: 'authentication_error' } });
      expect(refused.header('request-id')).toBe(refused.header('x-request-id'));
      expect(world.served).toBe(before);
    });
  });

  it('T10: an accepted token with any one byte changed', async () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const neighbour = (char: string): string => alphabet[(alphabet.indexOf(char) ^ 1) & 63] ?? 'A';
    const places = Array.from({ length: 40 }, (_, i) => Math.floor((i * (good.length - 1)) / 39));
    for (const place of new Set([...places, good.length - 1, good.length - 2])) {
      const char = good[place] ?? '';
      const changed = char === '.' ? 'A' : neighbour(char);
      await expectRejected(good.slice(0, place) + changed + good.slice(place + 1));
    }
    // The last character has spare bits, which a lenient decoder drops.
    const last = good.at(-1) ?? '';
    for (const char of alphabet) if (char !== last) await expectRejected(good.slice(0, -1) + char);
  });

  it('T11: the scheme in any case, and an audience among others', async () => {
    for (const scheme of ['bearer', 'BEARER', 'bEARER', 'Bearer  '])
      expect((await world.chat(undefined, { authorization: `${scheme} ${good}` })).status).toBe(200);
    const token = await world.identity.sign({ aud: ['other', AUDIENCE] });
    expect((await world.chat(token)).status).toBe(200);
  });

  it.each([
    ['letters', 'a'.repeat(14_000)],
    ['dots', '.'.repeat(14_000)],
    ['base64', Buffer.alloc(10_500, 7).toString('base64url')],
    ['segments', `${'a'.repeat(4000)}.${'b'.repeat(4000)}.${'c'.repeat(4000)}`],
    ['space', `${' '.repeat(14_000)}a`],
  ])('T12: 14 KB of %s, thirty at once, are refused and hold nobody up', async (_, text) => {
    const before = world.served;
    const flood = Promise.all(Array.from({ length: 30 }, () => world.chat(text)));
    const canary = await world.chat(good);
    expect(contentOf(canary)).toBe('mark-served');
    for (const answer of await flood) expectProblem(answer, 401, 431);
    expect(world.served).toBe(before + 1);
  });

  it('counts who was turned away why, by closed sets of reasons', async () => {
    const { gateway } = world.edge;
    for (const reason of ['missing', 'malformed', 'expired', 'signature', 'issuer', 'audience', 'algorithm'])
      expect(await gateway.metric('auth_rejected_total', { reason })).toBeGreaterThan(0);
    expect(await gateway.metric('http_rejected_total', { route: CHAT, reason: 'unauthenticated' })).toBeGreaterThan(0);
    const line = await world.lineOf(await world.chat(await world.identity.sign({ exp: now() - 60 })));
    expect(line).toMatchObject({ level: 40, status: 401, reason: 'unauthenticated', cause: 'expired', route: CHAT });
  });

  it('X1: no token, and no part of one, is in the log or in a metric', async () => {
    const other = await world.identity.sign({ sub: 'told', scope: SCOPES });
    await world.lineOf(await world.chat(other));
    const said = world.edge.gateway.output() + (await world.edge.gateway.metrics());
    for (const token of [good, other]) {
      for (const part of token.split('.')) expect(said).not.toContain(part);
    }
  });
});
