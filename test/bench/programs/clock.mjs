/** The monotonic clock in microseconds: the same for all processes of one machine. */
export const nowMicros = () => Number(process.hrtime.bigint() / 1000n);
