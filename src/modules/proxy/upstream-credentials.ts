import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import type { UpstreamConfig } from '../../common/config/upstreams.config.js';

const LOOK_EVERY_MS = 2000;
/** RFC 6750 section 2.1: what a bearer token may consist of. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/** The gateway's own credentials at its upstreams, read from files and read again when those change. */
export class UpstreamCredentials {
  readonly #byUpstream = new Map<string, string>();
  readonly #files: string[] = [];

  /**
   * Throws where a file cannot be read or holds no bearer token; its content is never part of the message. `failed` is
   * told when a later version is of no use: the last good one stays in force.
   */
  constructor(upstreams: readonly UpstreamConfig[], failed: (message: string) => void) {
    for (const [at, { name, credentialFile }] of upstreams.entries()) {
      if (credentialFile === undefined) continue;
      const key = `upstreams[${at}].credentialFile`;
      this.#byUpstream.set(name, tokenFrom(credentialFile, key));
      this.#files.push(credentialFile);
      watchFile(credentialFile, { interval: LOOK_EVERY_MS, persistent: false }, () => {
        try {
          this.#byUpstream.set(name, tokenFrom(credentialFile, key));
        } catch (error) {
          failed((error as Error).message);
        }
      });
    }
  }

  /** The value of `authorization` for an upstream; undefined: it gets none. */
  authorization(upstream: string): string | undefined {
    const token = this.#byUpstream.get(upstream);
    return token === undefined ? undefined : `Bearer ${token}`;
  }

  close(): void {
    for (const file of this.#files) unwatchFile(file);
  }
}

function tokenFrom(file: string, key: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch {
    throw new Error(`${key}: the file ${file} cannot be read`);
  }
  if (!TOKEN.test(text)) throw new Error(`${key}: the file ${file} does not hold one bearer token`);
  return text;
}
