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
import { callerOf, RequireScope } from '../../platform/http/access.js';
import { OpsOnly } from '../../platform/http/ops.js';
import { unavailableFilter } from '../../platform/http/unavailable.filter.js';
import { DescribesAct, DescribesList, TAKEDOWN_REFUSALS } from './operators.openapi.js';
import { RestorationDto, RowsDto, TakedownDto } from './takedown.dto.js';
import { HubActs, HubRestored, HubTakedowns, HubTakenDown } from './takedown.response.js';
import { Takedowns } from './takedowns.service.js';

/** No cache may keep an answer. */
const Private = (): MethodDecorator => Header('Cache-Control', 'no-store');

/** The operator API of the hub. It is off without API keys. */
@Controller('admin/api/hub')
@RequireScope('admin')
@OpsOnly()
@UseFilters(unavailableFilter('The storage or the index of the hub is unavailable. Try again.'))
export class TakedownsController {
  constructor(
    private readonly takedowns: Takedowns,
    private readonly logger: PinoLogger,
  ) {}

  @Get('takedowns')
  @Private()
  @DescribesList('hubTakedowns', 'Contents that are taken down, the newest first', HubTakedowns)
  list(@Query() { offset, limit: length }: RowsDto): ReturnType<Takedowns['list']> {
    return this.takedowns.list({ offset, length });
  }

  @Get('acts')
  @Private()
  @DescribesList('hubActs', 'Every takedown and restoration, the newest first', HubActs)
  acts(@Query() { offset, limit: length }: RowsDto): ReturnType<Takedowns['acts']> {
    return this.takedowns.acts({ offset, length });
  }

  @Post('takedown')
  @HttpCode(200)
  @Private()
  @DescribesAct(
    'hubTakeDown',
    'Takes a content down under all its names',
    HubTakenDown,
    TAKEDOWN_REFUSALS,
  )
  async takeDown(
    @Body() wanted: TakedownDto,
    @Req() request: Request,
  ): ReturnType<Takedowns['takeDown']> {
    const by = callerOf(request) ?? '';
    const done = await this.takedowns.takeDown(wanted, by);
    this.logger.warn({ by, outcome: done.outcome }, 'an operator took a file of the hub down');
    return done;
  }

  @Post('restore')
  @HttpCode(200)
  @Private()
  @DescribesAct('hubRestore', 'Restores a content', HubRestored)
  async restore(
    @Body() wanted: RestorationDto,
    @Req() request: Request,
  ): ReturnType<Takedowns['restore']> {
    const by = callerOf(request) ?? '';
    const done = await this.takedowns.restore(wanted, by);
    this.logger.warn({ by, outcome: done.outcome }, 'hub: restore');
    return done;
  }
}
