import type { Prefixed } from '../../../common/prefix-of.js';
import { GatewayProblem } from '../../../common/problem/gateway-problem.js';

/** What a prefix needs to build its upstream's path. */
export interface Prefix extends Prefixed {
  readonly stripPrefix: boolean;
}

const DOT_SEGMENT = /(?:^|\/)\.{1,2}(?:\/|$)/;
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const UNSAFE_DECODED = /[\u0000-\u001f\u007f\\]/;

/**
 * The target that the upstream gets: what was checked is what is sent. After one decoding the path must not leave the
 * prefix: dot segments, encoded slashes and dots, backslashes and control characters are refused.
 */
export function upstreamTarget(target: string, path: string, { prefix, stripPrefix }: Prefix): string {
  const below = path.slice(prefix.length);
  if (/%(?:2f|2e|5c|25|00)/i.test(below) || UNSAFE_DECODED.test(decoded(below)) || DOT_SEGMENT.test(decoded(below))) {
    throw new GatewayProblem('invalid-request-head', {
      detail: 'The path has encoded slashes, dots, percent signs, backslashes or control characters.',
    });
  }
  const query = target.slice(path.length);
  if (!stripPrefix) return path + query;
  return (below === '' ? '/' : below) + query;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new GatewayProblem('invalid-request-head', { detail: 'The path is not percent-encoded UTF-8.' });
  }
}
