import type { RoutingTable } from '../../common/config/routing-table.js';
import { prefixOf } from '../../common/prefix-of.js';
import { GatewayProblem } from '../../common/problem/gateway-problem.js';
import { requireIdentity } from './core/body-checks.js';
import { dashed, proxyRequestHeaders, withoutFields } from './core/headers.js';
import { PlainRendering } from './core/plain-rendering.js';
import { upstreamTarget } from './core/prefix-table.js';
import { pathOf } from './request-head.js';
import type { Exchange } from './exchange.js';
import type { Forwarder } from './forwarder.js';
import type { ProxiesConfig, ProxyConfig } from './proxies.config.js';

const NONE: ReadonlySet<string> = new Set();

/** The configured names of the fields that tell this gateway who calls. */
export interface IdentityFields {
  readonly bandHeader: string;
  readonly tenantHeader: string;
}

/** Serves the plain capabilities under their path prefixes. */
export class PrefixProxy {
  /** By prefix: fields that its upstream never sees, in lower case with dashes. */
  readonly #withheld: ReadonlyMap<string, ReadonlySet<string>>;

  constructor(
    private readonly proxies: ProxiesConfig,
    identity: IdentityFields,
    private readonly table: RoutingTable,
    private readonly forwarder: Forwarder,
  ) {
    const tokens = proxies.all.flatMap(({ tokenHeader }) => tokenHeader ?? []);
    const names = [identity.bandHeader, identity.tenantHeader, ...tokens].map((name) => dashed(name.toLowerCase()));
    const hidden = ({ forward }: ProxyConfig) => new Set(names.filter((name) => forward?.includes(name) !== true));
    this.#withheld = new Map(proxies.all.map((proxy) => [proxy.prefix, hidden(proxy)]));
  }

  /** What of a request's raw fields may be looked at for an upstream: what tells this gateway who calls ends here. */
  offered(proxy: ProxyConfig, raw: readonly string[]): readonly string[] {
    return withoutFields(raw, this.#withheld.get(proxy.prefix) ?? NONE);
  }

  /** The prefix that a request target lies in. */
  find(target: string): ProxyConfig | undefined {
    return prefixOf(pathOf(target), this.proxies.all);
  }

  /** Sends a request to its prefix's upstream. Rejects with a GatewayProblem that has not been answered yet. */
  async serve(proxy: ProxyConfig, exchange: Exchange): Promise<void> {
    const { request, record } = exchange;
    const method = allowedMethod(request.method ?? '', proxy);
    const target = request.url ?? '';
    const path = upstreamTarget(target, pathOf(target), proxy);
    const upstream = this.table.upstream(proxy.upstream);
    record.upstream = upstream.name;
    requireIdentity(request.headers);
    const body = await exchange.readBody(proxy.maxBodyBytes);
    const offered = this.offered(proxy, request.rawHeaders);
    const headers = proxyRequestHeaders(offered, request.headers, exchange.peer, record, proxy.forward);
    const call = { method, path, headers, body: body.length > 0 ? body : undefined };
    const rendering = new PlainRendering(proxy.forward);
    const { timeouts } = proxy;
    await this.forwarder.forward(
      { upstream, timeouts, request: undefined, contextLength: 0, call, rendering },
      exchange,
    );
  }
}

function allowedMethod(method: string, proxy: ProxyConfig): string {
  if (proxy.methods.includes(method) || (method === 'HEAD' && proxy.methods.includes('GET'))) return method;
  throw new GatewayProblem('method-not-allowed', {
    detail: `${proxy.prefix} takes ${proxy.methods.join(', ')}.`,
    headers: { Allow: proxy.methods.join(', ') },
  });
}
