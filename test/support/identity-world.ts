import { CHAT, chatBody, EdgeWorld } from './edge-world.js';
import type { GatewayOptions } from './gateway-config.js';
import { IdentityProvider, issuerKey } from './identity-provider.js';
import type { JsonObject } from './json.js';
import type { RawResponse } from './raw-client.js';
import { eventually } from './socket-world.js';

// Each world is a process of its own, on a machine that may have others to run.
import.meta.jest.setTimeout(15_000);

/** The service accounts of the provider. */
export const CLIENTS = ['svc-chat', 'svc-other'] as const;

/** A gateway with auth on, in front of one upstream, and the provider whose tokens it takes. */
export class IdentityWorld {
  private constructor(
    readonly edge: EdgeWorld,
    readonly identity: IdentityProvider,
  ) {}

  /** `auth`: laid over the section that makes the provider the only issuer. */
  static async start(options: Partial<GatewayOptions> = {}, auth: JsonObject = {}): Promise<IdentityWorld> {
    const identity = await IdentityProvider.start(CLIENTS, await issuerKey('first'));
    try {
      const section = { enabled: true, issuers: [identity.section], ...auth };
      const edge = await EdgeWorld.start({ ...options, auth: section });
      return new IdentityWorld(edge, identity);
    } catch (error) {
      await identity.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await this.edge.stop();
    await this.identity.stop();
  }

  /** A small chat request with this credential. */
  chat(token: string | undefined, headers: Readonly<Record<string, string>> = {}): Promise<RawResponse> {
    return this.edge.post(chatBody('served'), CHAT, {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...headers,
    });
  }

  /** Requests that the upstream has seen. */
  get served(): number {
    return this.edge.upstream.requests.length;
  }

  /** The line of the log about a request, when it has been printed. */
  async lineOf(response: RawResponse): Promise<JsonObject> {
    const find = (): JsonObject | undefined =>
      this.edge.gateway.logs().find((line) => line['request_id'] === response.header('x-request-id'));
    await eventually(() => find() !== undefined);
    return find() ?? {};
  }
}
