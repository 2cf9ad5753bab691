import { GatewayProblem } from '../../../common/problem/gateway-problem.js';

/** The fields that say what a body is. */
export interface BodyFields {
  readonly 'content-type'?: string | undefined;
  readonly 'content-encoding'?: string | undefined;
  readonly 'content-length'?: string | undefined;
}

const JSON_TYPE = /^application\/json[\t ]*(?:;[\t ]*charset[\t ]*=[\t ]*(?:utf-?8|"utf-?8")[\t ]*;?[\t ]*)?$/i;

/** Throws unless the fields announce JSON in UTF-8, not compressed. */
export function requireJson(fields: BodyFields): void {
  requireIdentity(fields);
  const type = fields['content-type'];
  if (type === 'application/json' || JSON_TYPE.test(type ?? '')) return;
  throw new GatewayProblem('unsupported-media-type', {
    detail: 'The body must be sent with Content-Type: application/json, in UTF-8.',
    closeConnection: true,
  });
}

/** Throws where the body is compressed: it would have to be opened to be checked. */
export function requireIdentity(fields: BodyFields): void {
  const coding = fields['content-encoding'];
  if (coding === undefined || coding.toLowerCase() === 'identity') return;
  throw new GatewayProblem('unsupported-media-type', {
    detail: 'The body must not be compressed: Content-Encoding, if sent, is identity.',
    closeConnection: true,
  });
}

export const bodyTooLarge = (limitBytes: number): GatewayProblem =>
  new GatewayProblem('body-too-large', {
    detail: `The body is larger than the ${limitBytes} bytes that this route takes.`,
    extensions: { limit: limitBytes },
    closeConnection: true,
  });

/** The declared length in bytes; undefined: none is declared. Throws where it is over the limit. */
export function declaredLength(fields: BodyFields, limitBytes: number): number | undefined {
  const text = fields['content-length'];
  if (text === undefined) return undefined;
  const length = Number(text);
  if (length > limitBytes) throw bodyTooLarge(limitBytes);
  return length;
}
