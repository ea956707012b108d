import {
  Controller,
  Get,
  Header,
  NotFoundException,
  Param,
  Query,
  UseFilters,
} from '@nestjs/common';
import {
  OperatorActions,
  OperatorDeliveries,
  OperatorWebhooks,
  Reconciliation,
  Reconciliations,
} from '../../history/operators/dto/operator.response.js';
import {
  AnyDeliveriesDto,
  AuditQueryDto,
  HistorySearchDto,
  HistoryTotalsDto,
  RunQueryDto,
  RunsQueryDto,
  WebhooksQueryDto,
} from '../../history/operators/dto/operator-query.dto.js';
import { OperatorHistory } from '../../history/operators/operator-history.js';
import { SettlementTotals } from '../../history/sellers/dto/settlement-totals.response.js';
import { RequireScope } from '../../platform/http/access.js';
import { OpsOnly } from '../../platform/http/ops.js';
import { SettlementIdPipe } from '../../platform/http/settlement-id.pipe.js';
import { AdminErrorFilter } from './admin-error.filter.js';
import { DescribesLife, DescribesList, DescribesListOf } from './admin-history.openapi.js';
import type { SettlementLife } from './dto/settlement-life.response.js';
import { NO_STORE } from './no-store.js';
import { SettlementLives } from './settlement-life.js';

/** The history on the operator page; read-only. */
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
  @DescribesList(
    'searchHistory',
    'Settlements of the history, newest first',
    'Settlements',
    'Settlements of every payee. Without `payTo` and `payer`, `from` is required, at most 92 days before `to`.',
  )
  settlements(@Query() query: HistorySearchDto): ReturnType<OperatorHistory['settlements']> {
    return this.history.settlements(query);
  }

  @Get('history/totals')
  @Header(...NO_STORE)
  @DescribesList(
    'historyTotals',
    'Sums of settlements, by day and asset',
    SettlementTotals,
    '`from` is required: at most 92 days before `to`, or 366 days for one payee or payer.',
  )
  totals(@Query() query: HistoryTotalsDto): ReturnType<OperatorHistory['totals']> {
    return this.history.totals(query);
  }

  @Get('settlements/:id')
  @Header(...NO_STORE)
  @DescribesLife()
  async life(@Param('id', SettlementIdPipe) id: string): Promise<SettlementLife> {
    return known(await this.lives.of(id));
  }

  @Get('webhooks')
  @Header(...NO_STORE)
  @DescribesList(
    'allWebhooks',
    'Webhooks of every API key',
    OperatorWebhooks,
    'Each webhook with its last answer and its waiting deliveries. `status=failing`: enabled webhooks whose URL does not answer with 2xx.',
  )
  webhooks(@Query() query: WebhooksQueryDto): ReturnType<OperatorHistory['webhooks']> {
    return this.history.webhooks(query);
  }

  @Get('webhooks/:id/deliveries')
  @Header(...NO_STORE)
  @DescribesListOf('anyDeliveries', 'Deliveries to a webhook, newest first', OperatorDeliveries)
  async deliveries(
    @Param('id') id: string,
    @Query() query: AnyDeliveriesDto,
  ): Promise<OperatorDeliveries> {
    return known(await this.history.deliveries(id, query));
  }

  @Get('reconciliations')
  @Header(...NO_STORE)
  @DescribesList('reconciliations', 'Runs of the reconciliation, newest first', Reconciliations)
  reconciliations(@Query() query: RunsQueryDto): ReturnType<OperatorHistory['reconciliations']> {
    return this.history.reconciliations(query);
  }

  @Get('reconciliations/:id')
  @Header(...NO_STORE)
  @DescribesListOf('reconciliation', 'Differences that one run found', Reconciliation)
  async reconciliation(
    @Param('id') id: string,
    @Query() query: RunQueryDto,
  ): Promise<Reconciliation> {
    return known(await this.history.reconciliation(id, query));
  }

  @Get('audit')
  @Header(...NO_STORE)
  @DescribesList('operatorActions', 'Actions of operators, newest first', OperatorActions)
  audit(@Query() query: AuditQueryDto): ReturnType<OperatorHistory['audit']> {
    return this.history.audit(query);
  }
}

function known<T>(found: T | undefined): T {
  if (found === undefined) throw new NotFoundException('The history has no entry with this id.');
  return found;
}
