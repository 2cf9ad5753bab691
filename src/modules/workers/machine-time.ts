/**
 * What the processes of one machine add to their own monotonic clocks to mean the same moment. It is taken once: both
 * clocks are the machine's, and run alike.
 */
export const machineOffsetMs = Number(process.hrtime.bigint()) / 1_000_000 - performance.now();
