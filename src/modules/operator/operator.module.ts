import { Module, type DynamicModule, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { systemClock } from '../../common/clock.js';
import { Desk } from './desk.js';
import { DeskEvents } from './desk-events.js';
import { OperatorController } from './operator.controller.js';
import { Watchers } from './watchers.js';

/** The operator's page: it looks, and changes nothing. */
@Module({})
export class OperatorModule implements OnApplicationBootstrap, OnModuleDestroy {
  static over(desk: Desk): DynamicModule {
    return {
      module: OperatorModule,
      controllers: [OperatorController],
      providers: [
        { provide: Desk, useValue: desk },
        { provide: Watchers, useFactory: () => new Watchers(new DeskEvents(desk), systemClock) },
      ],
    };
  }

  constructor(
    private readonly desk: Desk,
    private readonly watchers: Watchers,
  ) {}

  onApplicationBootstrap(): void {
    this.desk.start();
  }

  /** Before the listener closes, which waits for every answer that has not ended. */
  onModuleDestroy(): void {
    this.desk.stop();
    this.watchers.close();
  }
}
