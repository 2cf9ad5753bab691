/** Everything about the client's side that its forwarding fields need. */
export interface Peer {
  /** Textual address of the socket's other end. */
  readonly address: string;
  /** It is one of the configured proxies: its word about who stands behind it counts. */
  readonly trusted: boolean;
}
