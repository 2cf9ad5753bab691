import { Controller, Get, Header, Inject } from '@nestjs/common';
import { Registry } from 'prom-client';

/** Renders the metrics of all workers as one page. */
export abstract class MetricsOfAll {
  abstract render(): Promise<string>;
}

/** /metrics of a gateway of several processes. */
@Controller('metrics')
export class WorkersMetricsController {
  constructor(@Inject(MetricsOfAll) private readonly metrics: MetricsOfAll) {}

  @Get()
  @Header('content-type', Registry.PROMETHEUS_CONTENT_TYPE)
  read(): Promise<string> {
    return this.metrics.render();
  }
}
