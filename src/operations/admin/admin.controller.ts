import {
  Controller,
  Get,
  Header,
  HttpCode,
  NotFoundException,
  Param,
  Post,
  Query,
  Req,
  UseFilters,
} from '@nestjs/common';
import type { Request } from 'express';
import { PinoLogger } from 'nestjs-pino';
import { callerOf, RequireScope } from '../../platform/http/access.js';
import { invalidQuery } from '../../platform/http/coded-error.js';
import { OpsOnly } from '../../platform/http/ops.js';
import type { LaneSwitch } from '../../settlement/ledger/queries/lane-queries.js';
import type { SettlementStatus } from '../../settlement/ledger/queries/settlement-status.js';
import {
  DescribesClosing,
  DescribesNewest,
  DescribesOverview,
  DescribesSwitch,
} from './admin.openapi.js';
import { AdminService } from './admin.service.js';
import { AdminErrorFilter } from './admin-error.filter.js';
import type { ClosedSettlement, LaneView } from './dto/admin.response.js';
import { SettlementSearchDto } from './dto/settlement-search.dto.js';
import { NO_STORE } from './no-store.js';

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
  @Header(...NO_STORE)
  @DescribesOverview()
  overview(): ReturnType<AdminService['overview']> {
    return this.admin.overview();
  }

  @Get('settlements')
  @Header(...NO_STORE)
  @DescribesNewest()
  async settlements(
    @Query() { search, sale }: SettlementSearchDto,
  ): Promise<{ readonly settlements: readonly SettlementStatus[] }> {
    const text = search.trim();
    if (text !== '' && sale !== undefined) {
      throw invalidQuery('search and sale cannot be asked for together.');
    }
    const settlements = sale === undefined ? this.admin.settlements(text) : this.admin.unclaimed();
    return { settlements: await settlements };
  }

  @Post('settlements/:id/close')
  @HttpCode(200)
  @Header(...NO_STORE)
  @DescribesClosing()
  async close(@Param('id') id: string, @Req() request: Request): Promise<ClosedSettlement> {
    const by = callerOf(request) ?? '';
    if (!(await this.admin.closeUnclaimed(id, by))) {
      throw new NotFoundException('This settlement is not among those paid and not delivered.');
    }
    this.logger.warn({ settlementId: id, by }, 'paid and undelivered settlement closed');
    return { settlementId: id };
  }

  @Post('lanes/:lane/pause')
  @HttpCode(200)
  @Header(...NO_STORE)
  @DescribesSwitch(
    'pauseLane',
    'Pauses a lane',
    'From now on it allocates nothing, across restarts too. What it has sent it follows to its end.',
  )
  pause(@Param('lane') lane: string, @Req() request: Request): Promise<LaneView> {
    return this.#switch(lane, 'paused', true, request);
  }

  @Post('lanes/:lane/resume')
  @HttpCode(200)
  @Header(...NO_STORE)
  @DescribesSwitch('resumeLane', 'Resumes a lane', 'It takes work again.')
  resume(@Param('lane') lane: string, @Req() request: Request): Promise<LaneView> {
    return this.#switch(lane, 'paused', false, request);
  }

  @Post('lanes/:lane/retire')
  @HttpCode(200)
  @Header(...NO_STORE)
  @DescribesSwitch(
    'retireLane',
    'Retires a lane',
    'From now on it takes only payments that name its signer, and `/supported` names it no more.',
  )
  retire(@Param('lane') lane: string, @Req() request: Request): Promise<LaneView> {
    return this.#switch(lane, 'retiring', true, request);
  }

  @Post('lanes/:lane/reinstate')
  @HttpCode(200)
  @Header(...NO_STORE)
  @DescribesSwitch(
    'reinstateLane',
    'Reinstates a lane',
    'It takes any work again, and `/supported` names it.',
  )
  reinstate(@Param('lane') lane: string, @Req() request: Request): Promise<LaneView> {
    return this.#switch(lane, 'retiring', false, request);
  }

  async #switch(
    lane: string,
    which: LaneSwitch,
    isOn: boolean,
    request: Request,
  ): Promise<LaneView> {
    const by = callerOf(request) ?? '';
    const changed = await this.admin.switchLane(lane, which, isOn, by);
    if (changed === undefined) throw new NotFoundException('No such lane.');
    this.logger.warn({ lane, by }, `lane ${DONE[which][isOn ? 'set' : 'cleared']}`);
    return changed;
  }
}
