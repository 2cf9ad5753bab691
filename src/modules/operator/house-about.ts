import { hostname } from 'node:os';
import type { RoutingTable } from '../../common/config/routing-table.js';
import { PROBLEMS, reasonOf, type ProblemCode } from '../../common/problem/problems.js';
import { TEST_WORDS } from '../admission/test-words.js';

/** What does not change while the gateway runs: told once to whoever looks. */
export interface HouseAbout {
  readonly gateway: GatewayName;
  readonly bands: readonly BandAbout[];
  readonly upstreams: readonly UpstreamAbout[];
  readonly sharing: SharingAbout;
  /** Processes that serve. */
  readonly workers: number;
  /** What it means that an admission test holds a request. */
  readonly tests: Readonly<Record<string, string>>;
  /** Titles of rejections, by their reason. */
  readonly reasons: Readonly<Record<string, string>>;
}

/** Which process this is: what tells apart what several of them say. */
export interface GatewayName {
  readonly host: string;
  readonly pid: number;
  /** Milliseconds since 1970. */
  readonly startedAtMs: number;
}

export interface BandAbout {
  readonly name: string;
  readonly ceiling: number;
  readonly capacity: number;
}

export interface UpstreamAbout {
  readonly upstream: string;
  readonly engine: string;
  readonly models: readonly string[];
  readonly limit: number;
  readonly perEndpoint: number;
  readonly kvCeiling: number | undefined;
  readonly maxInflight: number | undefined;
}

/** With whom engines and budgets are shared, and how; never an address, which may hold a password. */
export interface SharingAbout {
  /** Gateways, this one included. */
  readonly replicas: number;
  readonly admission: 'none' | 'peers' | 'redis';
  readonly budgets: 'memory' | 'redis';
}

/** The part of the configuration that the page tells. */
export interface ToldConfig {
  readonly server: { readonly replicas: number; readonly workers: number };
  readonly admission: { readonly store: string; readonly bands: readonly BandAbout[] };
  readonly budgets: { readonly store: string };
}

/** The name of this process, which has just started. */
export const processName = (): GatewayName => ({ host: hostname(), pid: process.pid, startedAtMs: Date.now() });

export function houseAbout(
  gateway: GatewayName,
  { server, admission, budgets }: ToldConfig,
  table: Pick<RoutingTable, 'upstreams' | 'models'>,
): HouseAbout {
  return {
    gateway,
    bands: admission.bands.map(({ name, ceiling, capacity }) => ({ name, ceiling, capacity })),
    upstreams: table.upstreams.map(({ name, engine, slots, observe }) => ({
      ...{ upstream: name, engine, limit: slots.limit, perEndpoint: slots.perEndpoint },
      models: table.models.filter((model) => model.upstream.name === name).map(({ id }) => id),
      ...{ kvCeiling: observe?.kvCeiling, maxInflight: observe?.maxInflight },
    })),
    sharing: {
      replicas: server.replicas,
      admission: admission.store === 'none' || admission.store === 'peers' ? admission.store : 'redis',
      budgets: budgets.store === 'memory' ? 'memory' : 'redis',
    },
    workers: server.workers,
    tests: TEST_WORDS,
    reasons: Object.fromEntries(
      Object.entries(PROBLEMS).map(([code, { title }]) => [reasonOf(code as ProblemCode), title]),
    ),
  };
}
