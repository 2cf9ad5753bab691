import { createHash } from 'node:crypto';

/**
 * Which of so many gateways this one is: the number that a StatefulSet puts behind its name, or one that is drawn from
 * its name and address. Two may draw the same; then the odd places go to both, or to none.
 */
export function replicaIndex(host: string, address: string, replicas: number): number {
  const ordinal = /-(\d{1,4})$/.exec(host)?.[1];
  const drawn = ordinal === undefined ? createHash('sha256').update(`${host} ${address}`).digest().readUInt32BE(0) : 0;
  return (ordinal === undefined ? drawn : Number(ordinal)) % replicas;
}
