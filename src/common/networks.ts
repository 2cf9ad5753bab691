import { BlockList, isIP } from 'node:net';

/** Tests whether an address lies in one of the networks (`10.0.0.0/8`, `fd00::/8` or a single address). */
export function networkTest(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return (address) => {
    const family = isIP(address);
    return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
  };
}

/** The address of a socket's other end; an IPv4 address that came in over IPv6 in its own notation. */
export const plainAddress = (address: string | undefined): string => {
  if (address === undefined) return 'unknown';
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
};

/** Everything about the client's side that its forwarding fields need. */
export interface Peer {
  /** Textual address of the socket's other end. */
  readonly address: string;
  /** It is one of the configured proxies: its word about who stands behind it counts. */
  readonly trusted: boolean;
}
