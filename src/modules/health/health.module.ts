import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { AuthModule } from '../auth/auth.module.js';
import { DrainIndicator } from './drain.indicator.js';
import { HealthController } from './health.controller.js';
import { JwksIndicator } from './jwks.indicator.js';

/** /healthz and /readyz. */
@Module({
  imports: [AuthModule, TerminusModule.forRoot({ logger: false })],
  controllers: [HealthController],
  providers: [DrainIndicator, JwksIndicator],
  exports: [DrainIndicator],
})
export class HealthModule {}
