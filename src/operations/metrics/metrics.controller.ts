import { Controller, Get, Headers, StreamableFile } from '@nestjs/common';
import { OpsOnly } from '../../platform/http/ops.js';
import { OPEN_METRICS_TYPE, PROMETHEUS_TYPE, wantsOpenMetrics } from './open-metrics.js';
import { ScrapeService } from './scrape.service.js';

@Controller('metrics')
@OpsOnly()
export class MetricsController {
  constructor(private readonly scrapes: ScrapeService) {}

  /** The Prometheus text format, or OpenMetrics for scrapers that ask for it. */
  @Get()
  async scrape(@Headers('accept') accept: string | undefined): Promise<StreamableFile> {
    const isOpenMetrics = wantsOpenMetrics(accept);
    const text = await (isOpenMetrics ? this.scrapes.openMetrics() : this.scrapes.prometheus());
    const type = isOpenMetrics ? OPEN_METRICS_TYPE : PROMETHEUS_TYPE;
    return new StreamableFile(Buffer.from(text), { type });
  }
}
