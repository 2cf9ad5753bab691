/** Who calls. Built by auth from a verified token, or from trusted headers while auth is off; never from anything else. */
export interface Principal {
  /** Whose turn and whose budget it is. */
  readonly tenant: string;
  /** The band its requests wait in: a configured name. */
  readonly band: string;
  /** undefined: auth is off, and no scope is asked for. */
  readonly scopes: ReadonlySet<string> | undefined;
  /** What the identity provider says it belongs to; absent: nothing. */
  readonly groups?: ReadonlySet<string>;
}
