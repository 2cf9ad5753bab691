// What it costs to say whose a token is: one that is remembered, among others that are, one that has to be verified, and
// one that is refused; microseconds each.
// Wants a build: npm run build && node test/bench/tokens.bench.mjs [dist]
import { generateKeyPairSync, sign } from 'node:crypto';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { scaled } from './scale.mjs';

const dist = pathToFileURL(`${resolve(process.argv[2] ?? 'dist')}/`);
const built = (path) => import(new URL(path, dist));
const { BandNames } = await built('common/band-names.js');
const { systemClock } = await built('common/clock.js');
const { JwtVerifier } = await built('modules/auth/jwt.strategy.js');
const { TokenVerifier } = await built('modules/auth/token-verifier.js');

const ROUNDS = scaled(9);
const REMEMBERED_CALLS = scaled(50_000, 100);
const VERIFIED_CALLS = scaled(300, 5);
const OTHERS = scaled(4_000, 10);

const ISSUER = 'https://id.test/o/gateway/';
const TERMS = { issuer: ISSUER, audience: ['gateway'], clockToleranceMs: 30_000 };
const KEYS = {
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
};
const nowSeconds = Math.floor(Date.now() / 1000);
const encoded = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

function tokenOf(algorithm, subject, expiresInSeconds = 3600) {
  const times = { iat: nowSeconds - 7200, exp: nowSeconds + expiresInSeconds };
  const claims = { iss: ISSUER, aud: 'gateway', sub: subject, scope: 'llm:chat llm:embed llm:rerank', ...times };
  const signed = `${encoded({ alg: algorithm, kid: algorithm, typ: 'at+jwt' })}.${encoded(claims)}`;
  const signature = sign('sha256', Buffer.from(signed), { key: KEYS[algorithm].privateKey, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}

const held = Object.fromEntries(
  Object.entries(KEYS).map(([kid, { publicKey }]) => {
    const pem = String(publicKey.export({ type: 'spki', format: 'pem' }));
    return [kid, { published: { kid, pem, algorithms: [kid] }, goodUntilMs: Infinity }];
  }),
);
const issuer = { keys: { find: (kid) => held[kid] }, verifier: new JwtVerifier(TERMS) };
const policy = {
  issuers: [TERMS],
  algorithms: Object.keys(KEYS),
  clockToleranceMs: TERMS.clockToleranceMs,
  ...{ tenantClaim: 'sub', bandClaim: 'gateway_band' },
};
const bands = new BandNames(['platinum', 'gold', 'bronze'], 'gold');
const newVerifier = () => new TokenVerifier(policy, bands, { find: () => issuer }, systemClock, Date.now);

function identified(verifier, token) {
  const found = verifier.identify(token);
  if (found instanceof Promise || found.tenant === undefined) throw new Error('the token was not known at once');
}

function refused(verifier, token) {
  try {
    verifier.identify(token);
  } catch {
    return;
  }
  throw new Error('the token was not refused');
}

/** The best round: whatever else the machine does only ever adds to it. */
function measure(label, calls, act) {
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedAt = process.hrtime.bigint();
    for (let at = 0; at < calls; at += 1) act(at);
    best = Math.min(best, Number(process.hrtime.bigint() - startedAt) / 1000 / calls);
  }
  console.log(`${label.padEnd(44)}${best.toFixed(2).padStart(9)} µs`);
}

const verifier = newVerifier();
const token = tokenOf('RS256', 'acme');
measure(`remembered (${token.length} B)`, REMEMBERED_CALLS, () => identified(verifier, token));
const others = Array.from({ length: OTHERS }, (_, at) => tokenOf('ES256', `tenant-${at}`));
for (const other of others) identified(verifier, other);
measure(`remembered, one of ${OTHERS} in turn`, REMEMBERED_CALLS, (at) => identified(verifier, others[at % OTHERS]));
for (const algorithm of Object.keys(KEYS)) {
  const fresh = tokenOf(algorithm, 'bolt');
  measure(`verified, ${algorithm}`, VERIFIED_CALLS, () => identified(newVerifier(), fresh));
}
const expired = tokenOf('RS256', 'acme', -3600);
measure('refused, expired', REMEMBERED_CALLS / 10, () => refused(verifier, expired));
const forged = `${token.slice(0, -4)}${token.endsWith('AAAA') ? 'BBBB' : 'AAAA'}`;
measure('refused, signature', VERIFIED_CALLS, () => refused(verifier, forged));
