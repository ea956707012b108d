import { Controller, Get, Header, UseFilters } from '@nestjs/common';
import { RateLimited } from '../../platform/http/access.js';
import { LookUpErrorFilter } from '../../platform/http/unavailable.filter.js';
import { PublicStats, type Stats } from './public-stats.js';
import { DescribesStats } from './stats.openapi.js';

/** Totals of what was paid, for everybody. */
@Controller('stats')
@RateLimited('lookup')
@UseFilters(LookUpErrorFilter)
export class StatsController {
  constructor(private readonly stats: PublicStats) {}

  @Get()
  @Header('Cache-Control', 'public, max-age=60')
  @DescribesStats()
  current(): Promise<Stats> {
    return this.stats.current();
  }
}
