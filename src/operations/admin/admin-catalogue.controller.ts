import {
  Body,
  Controller,
  Get,
  Header,
  HttpCode,
  Post,
  Query,
  Req,
  UseFilters,
} from '@nestjs/common';
import type { Request } from 'express';
import { PinoLogger } from 'nestjs-pino';
import {
  DenialsQueryDto,
  EntriesQueryDto,
  VerdictDto,
} from '../../discovery/operators/dto/moderation.dto.js';
import { Moderation } from '../../discovery/operators/moderation.js';
import { callerOf, RequireScope } from '../../platform/http/access.js';
import { OpsOnly } from '../../platform/http/ops.js';
import {
  DescribesAllow,
  DescribesDenials,
  DescribesDeny,
  DescribesEntries,
} from './admin-catalogue.openapi.js';
import { AdminErrorFilter } from './admin-error.filter.js';
import { NO_STORE } from './no-store.js';

/** The catalogue on the operator page. */
@Controller('admin/api/catalogue')
@RequireScope('admin')
@OpsOnly()
@UseFilters(AdminErrorFilter)
export class AdminCatalogueController {
  constructor(
    private readonly moderation: Moderation,
    private readonly logger: PinoLogger,
  ) {}

  @Get('entries')
  @Header(...NO_STORE)
  @DescribesEntries()
  entries(@Query() query: EntriesQueryDto): ReturnType<Moderation['entries']> {
    return this.moderation.entries(query);
  }

  @Get('denials')
  @Header(...NO_STORE)
  @DescribesDenials()
  denials(@Query() query: DenialsQueryDto): ReturnType<Moderation['denials']> {
    return this.moderation.denials(query);
  }

  @Post('deny')
  @HttpCode(200)
  @Header(...NO_STORE)
  @DescribesDeny()
  async deny(@Body() verdict: VerdictDto, @Req() request: Request): ReturnType<Moderation['deny']> {
    const by = callerOf(request) ?? '';
    const done = await this.moderation.deny(verdict, by);
    this.logger.warn({ by, outcome: done.outcome }, 'catalogue: deny');
    return done;
  }

  @Post('allow')
  @HttpCode(200)
  @Header(...NO_STORE)
  @DescribesAllow()
  async allow(
    @Body() verdict: VerdictDto,
    @Req() request: Request,
  ): ReturnType<Moderation['allow']> {
    const by = callerOf(request) ?? '';
    const done = await this.moderation.allow(verdict, by);
    this.logger.warn({ by, outcome: done.outcome }, 'catalogue: allow');
    return done;
  }
}
