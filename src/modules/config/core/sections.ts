import type { AliasConfig } from '../../../common/config/aliases.config.js';
import type { ModelConfig } from '../../../common/config/models.config.js';
import type { OperationsConfig } from '../../../common/config/operations.config.js';
import type { ServerConfig } from '../../../common/config/server.config.js';
import type { UpstreamConfig } from '../../../common/config/upstreams.config.js';
import { itemPath } from './finding.js';
import type { Sketch } from './sketch.js';

/** What the cross-checks look at of the sections that other modules own. */
export interface CheckedSections {
  readonly server: ServerConfig;
  readonly upstreams: readonly UpstreamConfig[];
  readonly models: readonly ModelConfig[];
  readonly operations: OperationsConfig;
  readonly aliases: readonly AliasConfig[];
  readonly proxies: readonly {
    readonly prefix: string;
    readonly upstream: string;
    readonly methods: readonly string[];
    readonly websocket: boolean;
    readonly socket?: object;
    readonly timeouts: { readonly connectMs: number; readonly totalMs?: number };
    readonly scope: string;
    readonly group?: string;
    readonly tokenHeader?: string;
  }[];
  readonly admission: {
    readonly store: string;
    readonly peersSecretFile?: string;
    readonly heartbeatMs: number;
    readonly heartbeatEventsAfterMs: number;
    readonly defaultBand: string;
    readonly bands: readonly { readonly name: string; readonly ceiling: number }[];
  };
  readonly auth: {
    readonly enabled: boolean;
    readonly issuers: readonly { readonly issuer: string; readonly jwksUri: string }[];
    readonly maxKeyAgeMs: number;
    readonly keyRefreshMs?: number;
    readonly groupsClaim?: string;
    readonly identityFrom?: readonly string[];
    readonly bandHeader: string;
    readonly tenantHeader: string;
    readonly bandHeaderTrust: 'lower' | 'any';
  };
  readonly budgets: { readonly tenants: readonly { readonly name: string }[] };
}

/** Any part may be missing: what has a fault of its own is left out. */
export type Sections = Sketch<CheckedSections>;

/** Tells what is wrong with the value at a path; the complaint goes on from the value. */
export type Report = (path: string, complaint: string) => void;

/** Looks at what the file says as a whole. Never throws. */
export type Check = (config: Sections, report: Report) => void;

/** Each entry of a list with its path. */
export function entries<Item>(list: readonly Item[] | undefined, path: string): readonly (readonly [Item, string])[] {
  return (list ?? []).map((item, index) => [item, itemPath(path, index)] as const);
}

/** Those of the values that are there. */
export const known = <Value>(values: readonly (Value | undefined)[] | undefined): readonly Value[] =>
  (values ?? []).filter((value) => value !== undefined);

/** No value may stand twice at `key` of the entries of a list. */
export function reportRepeats(
  values: readonly (string | undefined)[] | undefined,
  { list, key }: { readonly list: string; readonly key: string },
  report: Report,
): void {
  const first = new Map<string, string>();
  for (const [value, path] of entries(values, list)) {
    if (value === undefined) continue;
    const earlier = first.get(value);
    if (earlier === undefined) first.set(value, path);
    else report(`${path}.${key}`, `is already the ${key} of ${earlier}`);
  }
}

/** A value that must be one of some names. */
export interface Reference {
  readonly path: string;
  /** What it must be: `the name of a band`. */
  readonly what: string;
  readonly names: readonly (string | undefined)[] | undefined;
}

/** A reference must lead somewhere. */
export function reportUnknown(value: string | undefined, { path, what, names }: Reference, report: Report): void {
  if (value === undefined || names === undefined || names.includes(value)) return;
  const there = [...new Set(known(names))].join(', ');
  report(path, `is not ${what} (${there === '' ? 'there is none' : `there are: ${there}`})`);
}
