import { isUtf8 } from 'node:buffer';
import { readFileSync, statSync } from 'node:fs';
import { ConfigFault, ConfigFaults, WHOLE_FILE } from './config-fault.js';

const MAX_FILE_BYTES = 1_048_576;

/** The text of the configuration file. Throws ConfigFaults where it is none. */
export function textOfFile(file: string): string {
  const bytes = bytesOfFile(file);
  if (isUtf8(bytes)) return bytes.toString('utf8');
  const lines = (bytes.toString('utf8').split('\uFFFD')[0] ?? '').split('\n');
  throw faultAt(file, 'holds bytes that are not UTF-8', lines.length, (lines.at(-1) ?? '').length + 1);
}

function bytesOfFile(file: string): Buffer {
  const obstacle = attempt(file, () => obstacleTo(file));
  if (obstacle !== undefined) throw faultAt(file, obstacle);
  return attempt(file, () => readFileSync(file));
}

/** A device or a huge file would be read for ever. */
function obstacleTo(file: string): string | undefined {
  const stat = statSync(file);
  if (!stat.isFile() && !stat.isFIFO()) return 'cannot be read: it is not a file';
  return stat.size > MAX_FILE_BYTES ? `is larger than ${MAX_FILE_BYTES} bytes` : undefined;
}

function attempt<Result>(file: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw faultAt(file, `cannot be read: ${reasonOf(error)}`);
  }
}

const faultAt = (file: string, message: string, line = 1, column = 1): ConfigFaults =>
  new ConfigFaults([new ConfigFault(file, line, column, WHOLE_FILE, message)]);

const REASONS: ReadonlyMap<unknown, string> = new Map([
  ['ENOENT', 'there is no such file'],
  ['ENOTDIR', 'there is no such file'],
  ['EACCES', 'the permission is missing'],
]);

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return REASONS.get(code) ?? message;
}
