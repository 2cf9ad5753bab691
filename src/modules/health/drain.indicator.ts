import { Injectable } from '@nestjs/common';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';

/** May traffic come: not while the gateway is shutting down. */
@Injectable()
export class DrainIndicator {
  #draining = false;

  constructor(private readonly indicators: HealthIndicatorService) {}

  begin(): void {
    this.#draining = true;
  }

  get draining(): boolean {
    return this.#draining;
  }

  check(): HealthIndicatorResult {
    const indicator = this.indicators.check('draining');
    return this.#draining ? indicator.down('the gateway is shutting down') : indicator.up();
  }
}
