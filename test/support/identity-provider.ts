import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import Provider, { type Adapter, type Configuration } from 'oidc-provider';
import type { JsonObject } from './json.js';

/** A key pair of an issuer. */
export interface IssuerKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly privateJwk: JWK;
  readonly publicJwk: JWK;
}

export async function issuerKey(kid: string, alg = 'RS256', modulusLength = 2048): Promise<IssuerKey> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true, modulusLength });
  const { d, p, q, dp, dq, qi, ...open } = await exportJWK(privateKey);
  const named = { ...open, kid, alg, use: 'sig' };
  return { kid, alg, privateKey, privateJwk: { ...named, d, p, q, dp, dq, qi } as JWK, publicJwk: named };
}

/** Answers a request for the key set instead of the provider. */
export type KeySetAnswer = (response: ServerResponse, request: IncomingMessage) => void;

export const AUDIENCE = 'gateway';
export const SCOPES = 'llm:chat llm:embed llm:rerank proxy:use queue:send';
const SECRET = 'a-secret-of-the-client';
const TOKEN_SECONDS = 600;

/** A real OpenID provider on a port of its own. Its service accounts get JWTs by client_credentials. */
export class IdentityProvider {
  /** How often the key set has been asked for. */
  keySetFetches = 0;
  /** Stands in for the provider's own answer; undefined: the provider answers. */
  keySetAnswer: KeySetAnswer | undefined;
  private server: Server;
  private port = 0;
  private provider: Provider | undefined;
  private signing: IssuerKey | undefined;

  private constructor(private readonly clients: readonly string[]) {
    this.server = this.newServer();
  }

  /** `clients`: ids of its service accounts. */
  static async start(clients: readonly string[], ...keys: readonly [IssuerKey, ...IssuerKey[]]) {
    const identity = new IdentityProvider(clients);
    await identity.listen();
    identity.publish(...keys);
    return identity;
  }

  get issuer(): string {
    return `http://127.0.0.1:${String(this.port)}`;
  }

  /** The issuer as the gateway's configuration has it. */
  get section(): JsonObject {
    return { issuer: this.issuer, jwksUri: `${this.issuer}/jwks`, audience: [AUDIENCE] };
  }

  /** The key that new tokens are signed with. */
  get key(): IssuerKey {
    if (this.signing === undefined) throw new Error('no key has been published');
    return this.signing;
  }

  /** From now on the set holds these keys, and the first of them signs. */
  publish(...keys: readonly [IssuerKey, ...IssuerKey[]]): void {
    this.signing = keys[0];
    this.provider = new Provider(this.issuer, configuration(this.clients, keys));
  }

  /** An access token, as a service account gets it. */
  async token(client: string, scope = SCOPES): Promise<string> {
    const response = await fetch(`${this.issuer}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${client}:${SECRET}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope, resource: 'urn:gateway' }),
    });
    const answer = (await response.json()) as { access_token?: string };
    if (answer.access_token === undefined) throw new Error(`no token: ${JSON.stringify(answer)}`);
    return answer.access_token;
  }

  /** Claims of a token that the gateway takes, with changes; an undefined one is left out. */
  claims(changes: JsonObject = {}): JsonObject {
    const now = Math.floor(Date.now() / 1000);
    const usual = { iss: this.issuer, aud: AUDIENCE, sub: 'forged', scope: SCOPES, iat: now, exp: now + TOKEN_SECONDS };
    return Object.fromEntries(Object.entries({ ...usual, ...changes }).filter(([, value]) => value !== undefined));
  }

  /** A token that the provider has not made, signed with its key or another one. */
  sign(changes: JsonObject = {}, header: JsonObject = {}, key: IssuerKey = this.key): Promise<string> {
    const fields = { alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header };
    const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
    return new SignJWT(this.claims(changes)).setProtectedHeader(given as { alg: string }).sign(key.privateKey);
  }

  /** Nothing listens any more, until `resume`. */
  async pause(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  async resume(): Promise<void> {
    this.server = this.newServer();
    await this.listen();
  }

  async stop(): Promise<void> {
    if (this.server.listening) await this.pause();
  }

  private newServer(): Server {
    return createServer((request, response) => {
      const isKeySet = request.url === '/jwks';
      if (isKeySet) this.keySetFetches += 1;
      if (isKeySet && this.keySetAnswer !== undefined) this.keySetAnswer(response, request);
      else void this.provider?.callback()(request, response);
    });
  }

  private async listen(): Promise<void> {
    this.server.listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
    this.port = (this.server.address() as AddressInfo).port;
  }
}

/** Keeps nothing: a JWT is its own record. */
class Forgetful implements Adapter {
  upsert = nothing;
  find = nothing;
  findByUserCode = nothing;
  findByUid = nothing;
  consume = nothing;
  destroy = nothing;
  revokeByGrantId = nothing;
}

const nothing = (): Promise<undefined> => Promise.resolve(undefined);

function configuration(clients: readonly string[], keys: readonly [IssuerKey, ...IssuerKey[]]): Configuration {
  const [{ alg, kid }] = keys;
  return {
    jwks: { keys: keys.map(({ privateJwk }) => privateJwk) },
    clients: clients.map((id) => ({
      client_id: id,
      client_secret: SECRET,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
      id_token_signed_response_alg: alg as 'RS256',
    })),
    scopes: SCOPES.split(' '),
    adapter: Forgetful,
    ttl: { ClientCredentials: TOKEN_SECONDS },
    cookies: { keys: ['never used'] },
    clientAuthMethods: ['client_secret_basic'],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: SCOPES,
          audience: AUDIENCE,
          accessTokenFormat: 'jwt',
          accessTokenTTL: TOKEN_SECONDS,
          jwt: { sign: { alg: alg as 'RS256', kid } },
        }),
      },
    },
  };
}

/** Answers of a key endpoint that has gone wrong. */
export const keySetOf =
  (body: unknown, { status = 200, type = 'application/json', location = '' } = {}): KeySetAnswer =>
  (response) => {
    response.writeHead(status, { 'content-type': type, ...(location !== '' && { location }) });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
