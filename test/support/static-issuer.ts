import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey } from 'jose';
import type { JsonObject } from './json.js';

const AUDIENCE = 'gateway';

/** No more than a key and where it is published: for tests that need callers with names, not a provider. */
export class StaticIssuer {
  private constructor(
    private readonly server: Server,
    private readonly key: CryptoKey,
  ) {}

  static async start(): Promise<StaticIssuer> {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'only', alg: 'ES256', use: 'sig' }] });
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(keys);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new StaticIssuer(server, privateKey);
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.server.address() as AddressInfo).port)}`;
  }

  /** The issuer as the gateway's configuration has it. */
  get section(): JsonObject {
    return { issuer: this.url, jwksUri: `${this.url}/jwks`, audience: [AUDIENCE] };
  }

  /** A token of ten minutes. */
  token(subject: string, scope = 'llm:chat'): Promise<string> {
    return new SignJWT({ scope })
      .setProtectedHeader({ alg: 'ES256', kid: 'only', typ: 'at+jwt' })
      .setIssuer(this.url)
      .setAudience(AUDIENCE)
      .setSubject(subject)
      .setIssuedAt()
      .setExpirationTime('10m')
      .sign(this.key);
  }

  async stop(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }
}
