import { once } from 'node:events';
import { createServer } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

const KEY_ID = 'bench';
const AUDIENCE = 'api-gateway';
const TOKEN_LIFE = '1 day';

/** An issuer on the loopback: it publishes its key, and signs one token as large as those that people have. */
export async function startIssuer() {
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: KEY_ID, alg: 'RS256', use: 'sig' }] });
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(keys);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${server.address().port}`;
  return {
    section: { issuer: `${url}/`, jwksUri: `${url}/jwks/`, audience: [AUDIENCE] },
    token: await signedToken(privateKey, `${url}/`),
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** With the claims of a profile, since Authentik puts them into access tokens. */
function signedToken(key, issuer) {
  return new SignJWT({
    scope: 'openid profile email llm:chat llm:embed llm:rerank',
    acr: 'goauthentik.io/providers/oauth2/default',
    azp: AUDIENCE,
    email: 'svc-bench@example.test',
    email_verified: true,
    name: 'Service bench',
    preferred_username: 'svc-bench',
    groups: ['services', 'gpu', 'llm users'],
  })
    .setProtectedHeader({ alg: 'RS256', kid: KEY_ID, typ: 'JWT' })
    .setIssuer(issuer)
    .setAudience(AUDIENCE)
    .setSubject('svc-bench')
    .setIssuedAt()
    .setExpirationTime(TOKEN_LIFE)
    .sign(key);
}
