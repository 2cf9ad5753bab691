import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StartOptions } from './start-gateway.js';

/** The name that stands for several addresses. */
export const ENGINES_HOST = 'engines.test';

/** Runs inside the gateway, before it: the look-ups of that one name are answered from a file. */
const MODULE = `
import dns from 'node:dns';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
const { lookup } = dns.promises;
dns.promises.lookup = async (host, options) => {
  if (host !== '${ENGINES_HOST}') return lookup(host, options);
  return JSON.parse(readFileSync(process.env.TEST_ADDRESSES, 'utf8')).map((address) => ({ address, family: 4 }));
};
syncBuiltinESMExports();
`;

/** A name server for one name, as a headless service has one: what the name stands for changes while a gateway runs. */
export class EngineNames {
  private constructor(private readonly folder: string) {}

  static async start(addresses: readonly string[]): Promise<EngineNames> {
    const names = new EngineNames(await mkdtemp(join(tmpdir(), 'names-')));
    await names.become(addresses);
    return names;
  }

  /** What the gateway has to be started with. */
  get how(): StartOptions {
    const env = {
      NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(MODULE)}`,
      TEST_ADDRESSES: this.file,
    };
    return { env };
  }

  async become(addresses: readonly string[]): Promise<void> {
    await writeFile(this.file, JSON.stringify(addresses));
  }

  async stop(): Promise<void> {
    await rm(this.folder, { recursive: true });
  }

  private get file(): string {
    return join(this.folder, 'addresses.json');
  }
}
