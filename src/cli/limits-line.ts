import { inLargestSize, inLargestUnit } from '../common/config/quantities.js';
import type { TimeoutsConfig } from '../common/config/timeouts.config.js';

/** What a route allows, whether an operation's or a prefix's. */
export interface Limits {
  readonly timeouts: TimeoutsConfig;
  readonly maxBodyBytes: number;
  readonly scope: string;
  readonly group?: string;
}

export function limitsLine(limits: Limits): string {
  return `${timeoutsLine(limits.timeouts)}, body ${inLargestSize(limits.maxBodyBytes)}, ${rightsLine(limits)}`;
}

export function timeoutsLine({ connectMs, readMs, writeMs, totalMs }: TimeoutsConfig): string {
  const times = [
    `connect ${inLargestUnit(connectMs)}`,
    `read ${inLargestUnit(readMs)}`,
    `write ${inLargestUnit(writeMs)}`,
  ];
  if (totalMs !== undefined) times.push(`total ${inLargestUnit(totalMs)}`);
  return times.join(', ');
}

export const rightsLine = ({ scope, group }: Limits): string =>
  `scope ${scope}${group === undefined ? '' : `, group ${group}`}`;
