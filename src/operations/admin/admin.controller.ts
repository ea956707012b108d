import {
  BadRequestException,
  Controller,
  Get,
  NotFoundException,
  Param,
  Post,
  Query,
  Req,
  Res,
  UseFilters,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { PinoLogger } from 'nestjs-pino';
import { callerOf, RequireScope } from '../../platform/http/access.js';
import { OpsOnly } from '../../platform/http/ops.js';
import type { LaneSwitch } from '../../settlement/ledger/queries/lane-queries.js';
import { AdminService, type LaneView } from './admin.service.js';
import { AdminErrorFilter } from './admin-error.filter.js';
import { sendPrivate } from './send-private.js';

const DONE = {
  paused: { set: 'paused', cleared: 'resumed' },
  retiring: { set: 'retired', cleared: 'reinstated' },
} as const satisfies Record<LaneSwitch, object>;

/** What the operator page shows and does. The key comes in a header, so no other site can ask. */
@Controller('admin/api')
@RequireScope('admin')
@OpsOnly()
@UseFilters(AdminErrorFilter)
export class AdminController {
  constructor(
    private readonly admin: AdminService,
    private readonly logger: PinoLogger,
  ) {}

  @Get('overview')
  async overview(@Res() response: Response): Promise<void> {
    sendPrivate(response, await this.admin.overview());
  }

  @Get('settlements')
  async settlements(
    @Query('search') search: unknown = '',
    @Res() response: Response,
  ): Promise<void> {
    if (typeof search !== 'string' || search.length > 100) {
      throw new BadRequestException('One settlement id, transaction hash or payer is expected.');
    }
    sendPrivate(response, { settlements: await this.admin.settlements(search.trim()) });
  }

  @Post('lanes/:lane/pause')
  async pause(
    @Param('lane') lane: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    sendPrivate(response, await this.#switch(lane, 'paused', true, request));
  }

  @Post('lanes/:lane/resume')
  async resume(
    @Param('lane') lane: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    sendPrivate(response, await this.#switch(lane, 'paused', false, request));
  }

  @Post('lanes/:lane/retire')
  async retire(
    @Param('lane') lane: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    sendPrivate(response, await this.#switch(lane, 'retiring', true, request));
  }

  @Post('lanes/:lane/reinstate')
  async reinstate(
    @Param('lane') lane: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    sendPrivate(response, await this.#switch(lane, 'retiring', false, request));
  }

  async #switch(
    lane: string,
    which: LaneSwitch,
    isOn: boolean,
    request: Request,
  ): Promise<LaneView> {
    const by = callerOf(request) ?? '';
    const changed = await this.admin.switchLane(lane, which, isOn, by);
    if (changed === undefined) throw new NotFoundException();
    this.logger.warn({ lane, by }, `lane ${DONE[which][isOn ? 'set' : 'cleared']}`);
    return changed;
  }
}
