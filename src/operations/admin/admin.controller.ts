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
import { placeOf } from '../../protocol/diagnosis/place.js';
import type { LaneSwitch } from '../../settlement/ledger/queries/lane-queries.js';
import type { SettlementPage } from '../../settlement/ledger/queries/settlement-listing.js';
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

/** The operator page. The key comes in a header, so no other site can send requests for it. */
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
    @Query() { search, sale, ...narrowing }: SettlementSearchDto,
  ): Promise<SettlementPage> {
    const text = search.trim();
    if (sale === undefined) {
      const extra = (Object.entries(narrowing) as [string, unknown][]).find(
        ([, value]) => value !== undefined,
      );
      if (extra !== undefined) {
        const [path, value] = extra;
        const place = placeOf(path, 'nothing, without sale', value);
        throw invalidQuery(`${path} needs sale.`, place);
      }
      return { settlements: await this.admin.settlements(text) };
    }
    if (text !== '') {
      const place = placeOf('search', 'nothing, beside sale', search);
      throw invalidQuery('Give search or sale, not both.', place);
    }
    return this.admin.unclaimed(narrowing);
  }

  @Post('settlements/:id/close')
  @HttpCode(200)
  @Header(...NO_STORE)
  @DescribesClosing()
  async close(@Param('id') id: string, @Req() request: Request): Promise<ClosedSettlement> {
    const by = callerOf(request) ?? '';
    if (!(await this.admin.closeUnclaimed(id, by))) {
      throw new NotFoundException('Only a settlement that is paid and undelivered can be closed.');
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
    'A paused lane sends no new transactions, also after a restart. It follows its sent transactions to the end.',
  )
  pause(@Param('lane') lane: string, @Req() request: Request): Promise<LaneView> {
    return this.#switch(lane, 'paused', true, request);
  }

  @Post('lanes/:lane/resume')
  @HttpCode(200)
  @Header(...NO_STORE)
  @DescribesSwitch('resumeLane', 'Resumes a lane', 'The lane takes work again.')
  resume(@Param('lane') lane: string, @Req() request: Request): Promise<LaneView> {
    return this.#switch(lane, 'paused', false, request);
  }

  @Post('lanes/:lane/retire')
  @HttpCode(200)
  @Header(...NO_STORE)
  @DescribesSwitch(
    'retireLane',
    'Retires a lane',
    'A retired lane takes only payments that name its signer. `/supported` no longer lists its signer.',
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
    'The lane takes any payment again, and `/supported` lists its signer.',
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
    if (changed === undefined) throw new NotFoundException('There is no such lane.');
    this.logger.warn({ lane, by }, `lane ${DONE[which][isOn ? 'set' : 'cleared']}`);
    return changed;
  }
}
