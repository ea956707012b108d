import { Controller, Get, NotFoundException, Param, Query, Res, UseFilters } from '@nestjs/common';
import type { Response } from 'express';
import { OperatorHistory } from '../../history/operators/operator-history.js';
import { RequireScope } from '../../platform/http/access.js';
import { OpsOnly } from '../../platform/http/ops.js';
import { isSettlementId } from '../../protocol/payment/wire-values.js';
import { AdminErrorFilter } from './admin-error.filter.js';
import { sendPrivate } from './send-private.js';
import { SettlementLives } from './settlement-life.js';

/** What the operator page shows of the history; it changes nothing. */
@Controller('admin/api')
@RequireScope('admin')
@OpsOnly()
@UseFilters(AdminErrorFilter)
export class AdminHistoryController {
  constructor(
    private readonly history: OperatorHistory,
    private readonly lives: SettlementLives,
  ) {}

  @Get('history/settlements')
  async settlements(@Query() query: unknown, @Res() response: Response): Promise<void> {
    sendPrivate(response, await this.history.settlements(query));
  }

  @Get('history/totals')
  async totals(@Query() query: unknown, @Res() response: Response): Promise<void> {
    sendPrivate(response, await this.history.totals(query));
  }

  @Get('settlements/:id')
  async life(@Param('id') id: string, @Res() response: Response): Promise<void> {
    sendPrivate(response, known(isSettlementId(id) ? await this.lives.of(id) : undefined));
  }

  @Get('webhooks')
  async webhooks(@Query() query: unknown, @Res() response: Response): Promise<void> {
    sendPrivate(response, await this.history.webhooks(query));
  }

  @Get('webhooks/:id/deliveries')
  async deliveries(
    @Param('id') id: string,
    @Query() query: unknown,
    @Res() response: Response,
  ): Promise<void> {
    sendPrivate(response, known(await this.history.deliveries(id, query)));
  }

  @Get('reconciliations')
  async reconciliations(@Query() query: unknown, @Res() response: Response): Promise<void> {
    sendPrivate(response, await this.history.reconciliations(query));
  }

  @Get('reconciliations/:id')
  async reconciliation(
    @Param('id') id: string,
    @Query() query: unknown,
    @Res() response: Response,
  ): Promise<void> {
    sendPrivate(response, known(await this.history.reconciliation(id, query)));
  }

  @Get('audit')
  async audit(@Query() query: unknown, @Res() response: Response): Promise<void> {
    sendPrivate(response, await this.history.audit(query));
  }
}

function known<T>(found: T | undefined): T {
  if (found === undefined) throw new NotFoundException();
  return found;
}
