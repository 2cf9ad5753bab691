import { isIPv4, isIPv6 } from 'node:net';

/**
 * The engines behind a name, always in the same order, so that every gateway sees the same first one. A name with
 * addresses of both families stands for the same engines twice: those of IPv4 are taken.
 */
export function engineAddresses(resolved: readonly string[]): readonly string[] {
  const unique = [...new Set(resolved)];
  const four = unique.filter((address) => isIPv4(address));
  // An address with a zone (fe80::1%eth0) means something on one machine only, and fits in no URL.
  const six = unique.filter((address) => isIPv6(address) && !address.includes('%'));
  return (four.length > 0 ? four : six).sort();
}
