import { Injectable } from '@nestjs/common';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';
import { Issuers } from '../auth/issuers.js';

/** May traffic come: not before there is a key of every issuer. One that is down later does not undo that. */
@Injectable()
export class JwksIndicator {
  constructor(
    private readonly indicators: HealthIndicatorService,
    private readonly issuers: Issuers,
  ) {}

  check(): HealthIndicatorResult {
    const indicator = this.indicators.check('jwks');
    return this.issuers.keyless.length > 0 ? indicator.down('the keys of an issuer have never come') : indicator.up();
  }
}
