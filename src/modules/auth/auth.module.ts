import { Module } from '@nestjs/common';
import { APP_GUARD, DiscoveryModule } from '@nestjs/core';
import { BandNames } from '../../common/band-names.js';
import { systemClock } from '../../common/clock.js';
import { ServerConfig } from '../../common/config/server.config.js';
import { networkTest } from '../../common/networks.js';
import { OperatorLog } from '../../common/operator-log.js';
import { AuthConfig } from './auth.config.js';
import { CallerResolver } from './caller-resolver.js';
import { Issuers } from './issuers.js';
import { ScopeGuard } from './scope.guard.js';
import { TokenVerifier } from './token-verifier.js';

/** Finds out who calls and what they may do. */
@Module({
  imports: [DiscoveryModule],
  providers: [
    ScopeGuard,
    { provide: APP_GUARD, useExisting: ScopeGuard },
    {
      provide: Issuers,
      inject: [AuthConfig, OperatorLog],
      useFactory: (auth: AuthConfig, log: OperatorLog) => new Issuers(auth, systemClock, log),
    },
    { provide: CallerResolver, inject: [AuthConfig, BandNames, ServerConfig, Issuers], useFactory: callers },
  ],
  exports: [CallerResolver, Issuers, ScopeGuard],
})
export class AuthModule {}

function callers(auth: AuthConfig, bands: BandNames, server: ServerConfig, issuers: Issuers): CallerResolver {
  const proxy = networkTest(server.trustedProxies);
  const identity = auth.identityFrom === undefined ? proxy : networkTest(auth.identityFrom);
  const tokens = auth.enabled ? new TokenVerifier(auth, bands, issuers, systemClock, Date.now) : undefined;
  return new CallerResolver(auth, bands, { identity, proxy }, tokens);
}
