import {
  Controller,
  Get,
  Header,
  NotFoundException,
  Param,
  Query,
  UseFilters,
} from '@nestjs/common';
import { OperatorHistory } from '../../history/operators/operator-history.js';
import { RequireScope } from '../../platform/http/access.js';
import { OpsOnly } from '../../platform/http/ops.js';
import { isSettlementId } from '../../protocol/payment/wire-values.js';
import { AdminErrorFilter } from './admin-error.filter.js';
import { NO_STORE } from './no-store.js';
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
  @Header(...NO_STORE)
  settlements(@Query() query: unknown): ReturnType<OperatorHistory['settlements']> {
    return this.history.settlements(query);
  }

  @Get('history/totals')
  @Header(...NO_STORE)
  totals(@Query() query: unknown): ReturnType<OperatorHistory['totals']> {
    return this.history.totals(query);
  }

  @Get('settlements/:id')
  @Header(...NO_STORE)
  async life(@Param('id') id: string): Promise<unknown> {
    return known(isSettlementId(id) ? await this.lives.of(id) : undefined);
  }

  @Get('webhooks')
  @Header(...NO_STORE)
  webhooks(@Query() query: unknown): ReturnType<OperatorHistory['webhooks']> {
    return this.history.webhooks(query);
  }

  @Get('webhooks/:id/deliveries')
  @Header(...NO_STORE)
  async deliveries(@Param('id') id: string, @Query() query: unknown): Promise<unknown> {
    return known(await this.history.deliveries(id, query));
  }

  @Get('reconciliations')
  @Header(...NO_STORE)
  reconciliations(@Query() query: unknown): ReturnType<OperatorHistory['reconciliations']> {
    return this.history.reconciliations(query);
  }

  @Get('reconciliations/:id')
  @Header(...NO_STORE)
  async reconciliation(@Param('id') id: string, @Query() query: unknown): Promise<unknown> {
    return known(await this.history.reconciliation(id, query));
  }

  @Get('audit')
  @Header(...NO_STORE)
  audit(@Query() query: unknown): ReturnType<OperatorHistory['audit']> {
    return this.history.audit(query);
  }
}

function known<T>(found: T | undefined): T {
  if (found === undefined) throw new NotFoundException('The history has no such entry.');
  return found;
}
