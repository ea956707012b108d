import { Controller, Get, Headers, Res } from '@nestjs/common';
import type { Response } from 'express';
import { OpsOnly } from '../../platform/http/ops.js';
import { OPEN_METRICS_TYPE, PROMETHEUS_TYPE, wantsOpenMetrics } from './open-metrics.js';
import { ScrapeService } from './scrape.service.js';

@Controller('metrics')
@OpsOnly()
export class MetricsController {
  constructor(private readonly scrapes: ScrapeService) {}

  /** The Prometheus text format, or OpenMetrics for scrapers that ask for it. */
  @Get()
  async scrape(
    @Headers('accept') accept: string | undefined,
    @Res() response: Response,
  ): Promise<void> {
    const isOpenMetrics = wantsOpenMetrics(accept);
    const text = await (isOpenMetrics ? this.scrapes.openMetrics() : this.scrapes.prometheus());
    response.setHeader('Content-Type', isOpenMetrics ? OPEN_METRICS_TYPE : PROMETHEUS_TYPE);
    response.end(text);
  }
}
