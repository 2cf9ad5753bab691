/** RFC 6455 section 7.4.1 and the IANA registry. */
export const CLOSE = {
  goingAway: 1001,
  protocolError: 1002,
  /** Never on the wire: the close frame had no code. */
  noCode: 1005,
  /** Never on the wire: there was no close frame. */
  vanished: 1006,
  invalidData: 1007,
  policy: 1008,
  tooBig: 1009,
  internal: 1011,
  restart: 1012,
  badGateway: 1014,
} as const;

export type Party = 'client' | 'upstream';

/** How one side of a tunnel ended. */
export interface Ending {
  /** The code of its close frame, or `CLOSE.noCode`, or `CLOSE.vanished`. */
  readonly code: number;
  readonly reason: Buffer;
  /** It broke the protocol, and this is the code that it was told. */
  readonly faultCode: number | undefined;
}

/** What the other side is told. */
export interface Farewell {
  /** undefined: a close frame without a code. */
  readonly code: number | undefined;
  readonly reason: string | Buffer;
  /** A close frame came: what was sent before it is still delivered, however long the other side takes. */
  readonly orderly: boolean;
}

/** A close frame crosses as it is; where there was none, the other side learns honestly why. */
export function farewellFrom(party: Party, { code, reason, faultCode }: Ending): Farewell {
  if (faultCode !== undefined) return faultFarewell(party, faultCode);
  if (code === CLOSE.noCode) return { code: undefined, reason: '', orderly: true };
  if (code !== CLOSE.vanished) return { code, reason, orderly: true };
  if (party === 'client') return { code: CLOSE.goingAway, reason: 'the client is gone', orderly: false };
  return { code: CLOSE.badGateway, reason: 'the upstream is gone', orderly: false };
}

function faultFarewell(party: Party, faultCode: number): Farewell {
  if (party === 'client') return { code: CLOSE.goingAway, reason: 'the client broke the protocol', orderly: false };
  if (faultCode === CLOSE.tooBig)
    return { code: CLOSE.tooBig, reason: 'a message of the upstream was too big', orderly: false };
  return { code: CLOSE.badGateway, reason: 'the upstream broke the protocol', orderly: false };
}
