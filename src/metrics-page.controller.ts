import { Controller, Get, Header } from '@nestjs/common';
import { register, Registry } from 'prom-client';
import { sharedRendering } from './shared-rendering.js';

/** /metrics of a gateway of one process, at the path that its module tells. */
@Controller()
export class MetricsPageController {
  readonly #render = sharedRendering(() => register.metrics());

  @Get()
  @Header('content-type', Registry.PROMETHEUS_CONTENT_TYPE)
  read(): Promise<string> {
    return this.#render();
  }
}
