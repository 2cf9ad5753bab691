import { dirname } from 'node:path';

const REASONS: ReadonlyMap<unknown, string> = new Map([
  ['ENOENT', 'there is no such file'],
  ['ENOTDIR', 'a part of the path is a file, not a folder'],
  ['EEXIST', 'there is a file of that name, and a folder is wanted'],
  ['EISDIR', 'it is a folder, and a file is wanted'],
  ['EACCES', 'the permission is missing'],
  ['EPERM', 'the permission is missing'],
  ['EROFS', 'the file system is read-only'],
  ['ENOSPC', 'the disk is full'],
]);

/** An error of the operating system in words that a person can act upon; any other error's own. */
export function inPlainWords(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('message' in error)) return String(error);
  const { code, address, port, message } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (port === undefined) return REASONS.get(code) ?? message;
  const place = `${address?.includes(':') === true ? `[${address}]` : (address ?? '')}:${port}`;
  if (code === 'EADDRINUSE') return `${place} is taken: end what listens there, or choose another address`;
  if (code === 'EADDRNOTAVAIL') return `${place} is no address of this machine: choose one that is`;
  if (code === 'EACCES') return `${place} needs a permission that is missing: choose a port from 1024 on`;
  return message;
}

/** Reads what an option names. Throws with the option, the path and the reason. */
export function reading<Result>(option: string, path: string, read: () => Result): Result {
  try {
    return read();
  } catch (cause) {
    throw new Error(`${option} ${path}: ${inPlainWords(cause)}`, { cause });
  }
}

/** Writes where an option says. Throws with the option, the path and the reason. */
export function writing(option: string, path: string, write: () => void): void {
  try {
    write();
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    const reason = isMissing ? `there is no folder ${dirname(path)}: make it first` : inPlainWords(cause);
    throw new Error(`${option} ${path}: ${reason}`, { cause });
  }
}
