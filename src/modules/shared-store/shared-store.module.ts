import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { systemClock } from '../../common/clock.js';
import { SharedStores } from './shared-stores.js';

/** What several gateways keep together. Closed last, when nobody has anything to say any more. */
@Module({
  providers: [{ provide: SharedStores, useFactory: () => new SharedStores(systemClock) }],
  exports: [SharedStores],
})
export class SharedStoreModule implements OnApplicationShutdown {
  constructor(private readonly stores: SharedStores) {}

  async onApplicationShutdown(): Promise<void> {
    await this.stores.close();
  }
}
