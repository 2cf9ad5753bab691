import { lookup } from 'node:dns/promises';
import type { Clock, Timer } from '../../common/clock.js';
import { engineAddresses } from './core/engine-addresses.js';

/** All addresses behind a name; rejects where there is none to be had. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** As every other program on the machine resolves it: search domains and the hosts file count, in a cluster too. */
export const resolveAll: Resolve = async (host) =>
  (await lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address);

export interface DiscoveryListener {
  /** The addresses are others than before; never none. */
  onAddresses(addresses: readonly string[]): void;
  /** A look-up that failed or found none: what was known stays. Told once until one succeeds. */
  onFailure(error: unknown): void;
}

const LOOK_EVERY_MS = 5000;

/** Keeps an eye on what a name stands for. */
export class EndpointDiscovery {
  #addresses: readonly string[] = [];
  #timer: Timer | undefined;
  #stopped = false;
  #failing = false;

  constructor(
    private readonly host: string,
    private readonly resolve: Resolve,
    private readonly clock: Clock,
    private readonly listener: DiscoveryListener,
  ) {}

  /** Looks at once, and then again and again. Settles after the first look; never rejects. */
  async start(): Promise<void> {
    const found = await this.#look();
    if (this.#stopped) return;
    this.#timer = this.clock.after(LOOK_EVERY_MS, () => void this.start());
    this.#failing = found instanceof Error && this.#tellFailure(found);
    if (!(found instanceof Error)) this.#take(found);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  async #look(): Promise<readonly string[] | Error> {
    try {
      const addresses = engineAddresses(await this.resolve(this.host));
      return addresses.length > 0 ? addresses : new Error('the name has no address');
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  #tellFailure(error: Error): true {
    if (!this.#failing) this.listener.onFailure(error);
    return true;
  }

  #take(addresses: readonly string[]): void {
    if (addresses.join() === this.#addresses.join()) return;
    this.#addresses = addresses;
    this.listener.onAddresses(addresses);
  }
}
