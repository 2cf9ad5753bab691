import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { DrainIndicator } from './drain.indicator.js';
import { HealthController } from './health.controller.js';

/** /healthz and /readyz. */
@Module({
  imports: [TerminusModule.forRoot({ logger: false })],
  controllers: [HealthController],
  providers: [DrainIndicator],
  exports: [DrainIndicator],
})
export class HealthModule {}
