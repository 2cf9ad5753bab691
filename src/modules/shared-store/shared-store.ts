/** A script that the store runs in one step, on one key. */
export interface StoreScript {
  readonly name: string;
  /** Lua. KEYS[1] is the key. */
  readonly source: string;
}

export type StoreArgument = string | number;

/** A store that the replicas share, and that any of them can do without. */
export interface SharedStore {
  /** It answers in time. false: nobody waits for it. */
  readonly up: boolean;
  /** What it failed with last, in a word. */
  readonly fault: string | undefined;
  /** The time, by the store's clock, until which an answer to a call made now is of use. */
  readonly deadlineMs: number;
  /**
   * Runs a script. Settles within the store's patience; undefined: there is no answer, and the script may have run or
   * may yet. `late` gets an answer that comes after that.
   */
  run(
    script: StoreScript,
    key: string,
    args: readonly StoreArgument[],
    late: (reply: unknown) => void,
  ): Promise<unknown>;
  /**
   * Runs a script whose answer nobody waits for, at most once; while there is no connection it is kept for the next.
   * `lost`: it was sent on a connection that has ended, and may have run or not.
   */
  post(script: StoreScript, key: string, args: readonly StoreArgument[], lost?: () => void): void;
  /** Tells everyone who listens on a channel, this process too; lost while there is no connection. */
  publish(channel: string, message: string): void;
  /** Calls back with every message of a channel, from now until the store is closed. */
  subscribe(channel: string, listener: (message: string) => void): void;
  /** Calls back with every new connection, before anything is asked on it: it may be well only later. */
  onConnection(listener: () => void): void;
  /** Calls back whenever `up` has changed. */
  onTurn(listener: () => void): void;
  /** Sends what is on its way, and closes the connection. */
  close(): Promise<void>;
}
