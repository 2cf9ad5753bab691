import type { Socket } from 'node:net';

/** Closes a connection as a process that dies does: with a reset, where the socket is not on its way out already. */
export function cut(socket: Socket): void {
  // libuv refuses to reset what has been shut down, and the handle would then stay open for good.
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
