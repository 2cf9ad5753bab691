import type { GatewayProblem } from './problem/gateway-problem.js';
import type { Usage } from './canonical/usage.js';

/** A response's status line and fields; fields as name, value, name, value …, without framing and connection fields. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: readonly string[];
}

/** A response that is complete. */
export interface WholeResponse extends ResponseHead {
  readonly body: Uint8Array;
}

/** Header fields as the engine sent them: lower-case names; a repeated field is a list. */
export type EngineHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * What a dialect makes of one answer of an engine. One instance for a response; the relay calls it in order,
 * synchronously, and never again after an end.
 *
 * `begin` chooses the way. `stream`: `head` goes out at once, then what `push` returns for each piece, then `end`.
 * `whole`: the relay holds the body, then sends what `whole` returns; a body over `wholeLimitBytes` goes the other way
 * after all, from its first byte. A stream that is kept alive while its engine is silent asks for `head` and `heartbeat`
 * before `begin`; from then on `whole` gives its body in the stream's form.
 */
export interface Rendering {
  readonly wholeLimitBytes: number;
  /** The engine's head has come. Throws a GatewayProblem where that answer is not for the client (401, a redirect). */
  begin(status: number, headers: EngineHeaders): 'stream' | 'whole';
  /** The head of the client's response on the streaming way. */
  head(): ResponseHead;
  /** A piece of the body: the bytes for the client, the same object where nothing changes; empty: nothing yet. */
  push(chunk: Uint8Array): Uint8Array;
  /** The engine has ended the body cleanly: what is left to send, or a problem where the answer is not complete. */
  end(): Uint8Array | GatewayProblem;
  /** The held body as a complete response. Throws a GatewayProblem where the engine's answer is an error in disguise. */
  whole(body: Buffer): WholeResponse;
  /** Bytes that tell a client in mid-stream what went wrong; undefined: nothing can, and the socket must be cut. */
  failure(problem: GatewayProblem): Uint8Array | undefined;
  /** Bytes that keep a silent stream alive, or undefined where they would land inside an event. */
  heartbeat(asEvent: boolean): Uint8Array | undefined;
  /** An error of the engine was passed on inside a stream that it had begun: the response ends as a failed one. */
  readonly failed: boolean;
  /** The engine's own count, once it has been seen. */
  readonly usage: Usage | undefined;
  /**
   * Tokens of output that have been handed out, estimated from their bytes: counted where the engine's own count does
   * not come. Absent: what is handed out is not made of tokens.
   */
  readonly deliveredTokens?: number;
  /** The first byte of content (not of a head or a heartbeat) has been handed out. */
  readonly contentSeen: boolean;
}
