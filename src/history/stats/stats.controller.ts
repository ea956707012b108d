import { Controller, Get, Res, UseFilters } from '@nestjs/common';
import type { Response } from 'express';
import { RateLimited } from '../../platform/http/access.js';
import { LookUpErrorFilter } from '../../platform/http/unavailable.filter.js';
import type { Stats } from './dto/stats.response.js';
import { PublicStats } from './public-stats.js';
import { DescribesStats } from './stats.openapi.js';

/** Totals of what was paid, for everybody. */
@Controller('stats')
@RateLimited('lookup')
@UseFilters(LookUpErrorFilter)
export class StatsController {
  constructor(private readonly stats: PublicStats) {}

  @Get()
  @DescribesStats()
  async current(@Res({ passthrough: true }) response: Response): Promise<Stats> {
    const stats = await this.stats.current();
    // After the read: an error must not be kept by a proxy.
    response.setHeader('Cache-Control', 'public, max-age=60');
    return stats;
  }
}
