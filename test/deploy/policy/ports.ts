/** The port of `host:port`. */
export const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(':') + 1));
