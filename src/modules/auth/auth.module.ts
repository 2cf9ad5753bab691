import { Module } from '@nestjs/common';
import { APP_GUARD, DiscoveryModule } from '@nestjs/core';
import { BandNames } from '../../common/band-names.js';
import { ServerConfig } from '../../common/config/server.config.js';
import { networkTest } from '../../common/networks.js';
import { AuthConfig } from './auth.config.js';
import { CallerResolver } from './caller-resolver.js';
import { ScopeGuard } from './scope.guard.js';

/** Finds out who calls and what they may do. */
@Module({
  imports: [DiscoveryModule],
  providers: [
    { provide: APP_GUARD, useClass: ScopeGuard },
    {
      provide: CallerResolver,
      inject: [AuthConfig, BandNames, ServerConfig],
      useFactory: (auth: AuthConfig, bands: BandNames, server: ServerConfig) =>
        new CallerResolver(auth, bands, networkTest(auth.identityFrom ?? server.trustedProxies)),
    },
  ],
  exports: [CallerResolver],
})
export class AuthModule {}
