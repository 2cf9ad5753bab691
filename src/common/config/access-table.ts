import type { Operation } from '../canonical/canonical-request.js';
import { prefixOf } from '../prefix-of.js';
import type { OperationsConfig } from './operations.config.js';

/** The scope that asks for nothing. */
const PUBLIC = 'public';

/** What a route asks of its caller. */
export interface Right {
  /** A token is needed at all. */
  readonly token: boolean;
  /** What the token's `scope` must hold. undefined: any valid token will do. */
  readonly scope?: string | undefined;
  /** What its groups must hold besides. */
  readonly group?: string | undefined;
  /** Where a trusted proxy may put the token, besides `Authorization`. */
  readonly tokenHeader?: string | undefined;
}

/** For everyone, auth on or off. */
export const NOTHING: Right = { token: false };
/** For whoever has a valid token. */
export const ANY_TOKEN: Right = { token: true };

/** What an operation or a prefix says of it. */
interface Scoped {
  readonly scope: string;
  readonly group?: string;
  readonly tokenHeader?: string;
}

export const rightOf = ({ scope, group, tokenHeader }: Scoped): Right =>
  scope === PUBLIC ? NOTHING : { token: true, scope, group, tokenHeader };

/** The sections that say who may do what. */
export interface AccessSections {
  readonly operations: OperationsConfig;
  readonly proxies: readonly (Scoped & { readonly prefix: string })[];
}

/** What each operation and each prefix asks of its caller. Built once, so that a request only looks it up. */
export class AccessTable {
  readonly #operations: Readonly<Record<Operation, Right>>;
  readonly #prefixes: readonly { readonly prefix: string; readonly right: Right }[];

  constructor({ operations, proxies }: AccessSections) {
    this.#operations = {
      chat: rightOf(operations.chat),
      completions: rightOf(operations.completions),
      embeddings: rightOf(operations.embeddings),
      rerank: rightOf(operations.rerank),
    };
    this.#prefixes = proxies.map((proxy) => ({ prefix: proxy.prefix, right: rightOf(proxy) }));
  }

  operation(name: Operation): Right {
    return this.#operations[name];
  }

  /** The prefix that a request target lies in, and its right. undefined: it lies in none. */
  prefix(target: string): { readonly prefix: string; readonly right: Right } | undefined {
    const query = target.indexOf('?');
    return prefixOf(query < 0 ? target : target.slice(0, query), this.#prefixes);
  }
}
