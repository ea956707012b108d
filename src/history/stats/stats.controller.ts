import { Controller, Get, UseFilters } from '@nestjs/common';
import { RateLimited } from '../../platform/http/access.js';
import { Answer } from '../../platform/http/answer.js';
import { LookUpErrorFilter } from '../../platform/http/unavailable.filter.js';
import type { Stats } from './dto/stats.response.js';
import { PublicStats } from './public-stats.js';
import { DescribesStats } from './stats.openapi.js';

/** Public totals of payments. */
@Controller('stats')
@RateLimited('lookup')
@UseFilters(LookUpErrorFilter)
export class StatsController {
  constructor(private readonly stats: PublicStats) {}

  @Get()
  @DescribesStats()
  async current(): Promise<Answer<Stats>> {
    return new Answer(await this.stats.current(), { 'Cache-Control': 'public, max-age=60' });
  }
}
