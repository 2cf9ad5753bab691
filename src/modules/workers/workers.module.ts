import { Module, type DynamicModule } from '@nestjs/common';
import { WorkerLink } from './worker-link.js';

/** Tells every module which of the gateway's processes it is in. */
@Module({})
export class WorkersModule {
  static forLink(link: WorkerLink): DynamicModule {
    return {
      module: WorkersModule,
      global: true,
      providers: [{ provide: WorkerLink, useValue: link }],
      exports: [WorkerLink],
    };
  }
}
