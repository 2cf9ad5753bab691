import { GatewayProblem } from '../../../common/problem/gateway-problem.js';
import type { EngineHeaders, Rendering, ResponseHead, WholeResponse } from '../../../common/rendering.js';
import { proxyResponseHeaders } from './headers.js';

const NOTHING = new Uint8Array(0);
const REFUSALS = new Set([401, 403, 407]);

/** Hands a plain upstream's answer on as it is, but for the fields that are not the client's business. */
export class PlainRendering implements Rendering {
  readonly wholeLimitBytes = 0;
  readonly failed = false;
  readonly usage = undefined;
  contentSeen = false;
  #head: ResponseHead = { status: 502, headers: [] };

  /** `forward` names the credentials that cross on this prefix; where any do, a 401 or 403 is about the caller. */
  constructor(private readonly forward: readonly string[] | undefined) {}

  begin(status: number, headers: EngineHeaders): 'stream' {
    if (status > 599) {
      const detail = 'The upstream answered with a status that HTTP does not have (server_error).';
      throw new GatewayProblem('upstream-invalid', { detail, cause: `status ${status}` });
    }
    const redirect = status >= 300 && status < 400 && status !== 304;
    if (redirect || (REFUSALS.has(status) && this.forward === undefined)) {
      throw new GatewayProblem('upstream-refused-us', {
        detail: redirect
          ? 'The upstream answered with a redirect, which is not followed.'
          : 'The upstream refused the gateway.',
        cause: `status ${status}`,
      });
    }
    // RFC 9110 section 8.6: there is no length where there can be no body.
    this.#head = {
      status,
      headers: this.#headers(status === 204 ? { ...headers, 'content-length': undefined } : headers),
    };
    return 'stream';
  }

  head(): ResponseHead {
    return this.#head;
  }

  push(chunk: Uint8Array): Uint8Array {
    this.contentSeen = true;
    return chunk;
  }

  end(): Uint8Array {
    return NOTHING;
  }

  whole(): WholeResponse {
    throw new Error('a plain answer is never held');
  }

  /** Nothing can be said in the middle of somebody else's format: the cut is the message. */
  failure(): undefined {
    return undefined;
  }

  heartbeat(): undefined {
    return undefined;
  }

  #headers(fields: EngineHeaders): string[] {
    const type = fields['content-type'];
    if (typeof type !== 'string' || !type.startsWith('text/event-stream'))
      return proxyResponseHeaders(fields, this.forward);
    // Nobody on the way may hold a stream back or keep it, whatever its upstream thinks of that.
    const out = proxyResponseHeaders({ ...fields, 'cache-control': undefined }, this.forward);
    out.push('x-accel-buffering', 'no', 'cache-control', 'no-store');
    return out;
  }
}
