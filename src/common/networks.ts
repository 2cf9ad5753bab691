import { BlockList, isIP } from 'node:net';

const REMEMBERED = 1024;

/** Tests whether an address lies in one of the networks (`10.0.0.0/8`, `fd00::/8` or a single address). */
export function networkTest(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  const known = new Map<string, boolean>();
  return (address) => {
    let found = known.get(address);
    if (found === undefined) {
      const family = isIP(address);
      found = family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
      // Few addresses ask often: those of the ingress. Whoever comes from many makes it forget, and no more.
      if (known.size >= REMEMBERED) known.clear();
      known.set(address, found);
    }
    return found;
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
