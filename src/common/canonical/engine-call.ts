/** What the engine is sent. The OpenAI dialect hands its caller's bytes on; others write their own. */
export interface EngineCall {
  readonly method: string;
  /** Origin-form path with the query, if any: built from the configuration, never resolved from a client's target. */
  readonly path: string;
  /** Name, value, name, value … without framing, host and credentials: the engine client adds its own. */
  readonly headers: readonly string[];
  /**
   * undefined: the call has no body, and no framing for one. It is handed over: its memory may be given back as soon as
   * it has been written and answered, so that nobody can read it again.
   */
  readonly body: Uint8Array | undefined;
}
