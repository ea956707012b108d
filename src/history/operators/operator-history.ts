import { Inject, Injectable, Optional } from '@nestjs/common';
import { Clock } from '../../platform/concurrency/clock.js';
import { invalidQuery } from '../../platform/http/coded-error.js';
import { cut } from '../../platform/http/paging.js';
import { placeOf } from '../../protocol/diagnosis/place.js';
import { caip2Of, chainIdOf } from '../../protocol/payment/network.js';
import { readAddress } from '../../protocol/payment/wire-values.js';
import type {
  ListQuery,
  SettlementPage,
} from '../../settlement/ledger/queries/settlement-listing.js';
import { statusOf } from '../../settlement/ledger/queries/settlement-status.js';
import { DIFFERENCES, NOTES } from '../reconciliation/difference.js';
import { decodeCursor, encodeCursor } from '../sellers/cursor.js';
import type { SettlementTotals } from '../sellers/dto/settlement-totals.response.js';
import { historyOff, invalidCursor } from '../sellers/history-problems.js';
import { narrowingOf, spanOf } from '../sellers/settlement-filter.js';
import type { Position } from '../sellers/settlement-reader.js';
import { checkRange, sumsBy } from '../sellers/settlement-totals.js';
import { deliveryViewOf, viewOf } from '../webhooks/webhook-view.js';
import type {
  DifferenceView,
  OperatorAction,
  OperatorActions,
  OperatorDeliveries,
  OperatorWebhook,
  OperatorWebhooks,
  Reconciliation,
  Reconciliations,
  RunView,
} from './dto/operator.response.js';
import {
  AnyDeliveriesDto,
  AuditQueryDto,
  HistorySearchDto,
  HistoryTotalsDto,
  RUN_ID,
  RunQueryDto,
  RunsQueryDto,
  WEBHOOK_ID,
  WebhooksQueryDto,
} from './dto/operator-query.dto.js';
import { forOperators } from './operator-answers.js';
import {
  type AuditRow,
  type KeptDifference,
  OPERATOR_ARCHIVE,
  type OperatorArchive,
  type ReconciliationRun,
  type SearchFilter,
  type WebhookState,
} from './operator-archive.js';

const DAYS_OF_ONE_MOST = 366;
/** Longest span of a query over all payees, because no index serves such a query. */
const DAYS_MOST = 92;
const DAY_MS = 86_400_000;
const LANES_MOST = 200;

/**
 * Queries of operators over all payees, always bounded.
 *
 * @throws CodedError from every method: `invalid_query`, `invalid_cursor`, `history_off`, `history_unavailable`,
 *   `history_too_slow`.
 */
@Injectable()
export class OperatorHistory {
  /** @param archive - `undefined` without a database. */
  constructor(
    @Optional() @Inject(OPERATOR_ARCHIVE) private readonly archive: OperatorArchive | undefined,
    @Inject(Clock) private readonly clock: Pick<Clock, 'now'>,
  ) {}

  async settlements(query: HistorySearchDto): Promise<SettlementPage> {
    const archive = this.#archive();
    const { limit, cursor } = query;
    const filter = searchOf(query);
    const after = cursor === undefined ? undefined : decodeCursor(cursor, filter);
    checkWindow(filter, this.clock.now(), after);
    const { shown, last } = cut(await forOperators(archive.page(filter, after, limit + 1)), limit);
    return {
      settlements: shown.map(({ settlement }) => ({ ...statusOf(settlement), source: 'archive' })),
      ...(last !== undefined && { nextCursor: encodeCursor(last.position, filter) }),
    };
  }

  /**
   * Closes a payment that has left the ledger.
   *
   * @returns whether the payment was paid and not delivered, or was closed before; `false` without a database.
   */
  async closeUnclaimed(id: string, by: string): Promise<boolean> {
    const { archive } = this;
    if (archive === undefined) return false;
    return forOperators(archive.closeUnclaimed({ id, by, at: new Date(this.clock.now()) }));
  }

  async totals(query: HistoryTotalsDto): Promise<SettlementTotals> {
    const archive = this.#archive();
    const filter = searchOf(query);
    const isOfOne = filter.payTo !== undefined || filter.payer !== undefined;
    checkRange(filter.from, filter.to ?? this.clock.now(), isOfOne ? DAYS_OF_ONE_MOST : DAYS_MOST);
    return sumsBy(query.groupBy, (grouping, most) =>
      forOperators(archive.totals(filter, grouping, most)),
    );
  }

  async webhooks({ limit, owner, status, after }: WebhooksQueryDto): Promise<OperatorWebhooks> {
    const archive = this.#archive();
    const found = await forOperators(archive.webhooks({ owner, status, after }, limit + 1));
    const { shown, last } = cut(found, limit);
    return { webhooks: shown.map(webhookView), ...(last && { next: last.webhook.id }) };
  }

  /** @returns `undefined` for an unknown webhook. */
  async deliveries(
    id: string,
    { limit, before }: AnyDeliveriesDto,
  ): Promise<OperatorDeliveries | undefined> {
    const archive = this.#archive();
    if (!WEBHOOK_ID.test(id)) return undefined;
    const found = await forOperators(archive.deliveries(id, before, limit + 1));
    if (found === undefined) throw invalidCursor();
    const { shown, last } = cut(found, limit);
    return { deliveries: shown.map(deliveryViewOf), ...(last && { next: last.eventId }) };
  }

  async reconciliations({ network, before, limit }: RunsQueryDto): Promise<Reconciliations> {
    const archive = this.#archive();
    const chainId = network === undefined ? undefined : chainIdOf(network);
    const { shown, last } = cut(
      await forOperators(archive.runs(chainId, before, limit + 1)),
      limit,
    );
    return { runs: shown.map(runView), ...(last && { next: last.id }) };
  }

  /** @returns `undefined` for an unknown run. */
  async reconciliation(
    id: string,
    { after, limit }: RunQueryDto,
  ): Promise<Reconciliation | undefined> {
    const archive = this.#archive();
    const run = RUN_ID.test(id) ? await forOperators(archive.run(id)) : undefined;
    if (run === undefined) return undefined;
    const [lanes, found] = await Promise.all([
      forOperators(archive.lanesOf(id, LANES_MOST)),
      forOperators(archive.differencesIn(id, Number(after), limit + 1)),
    ]);
    const { shown, last } = cut(found, limit);
    return {
      ...runView(run),
      lanes,
      found: shown.map(differenceView),
      ...(last && { next: String(last.number) }),
    };
  }

  async audit({
    network,
    by,
    subject,
    before,
    limit,
    ...times
  }: AuditQueryDto): Promise<OperatorActions> {
    const archive = this.#archive();
    const chainId = network === undefined ? undefined : chainIdOf(network);
    const span = spanOf(times);
    const [from, to] = [span.from, span.to].map((ms) =>
      ms === undefined ? undefined : new Date(ms),
    );
    const filter = { chainId, by, subject, from, to };
    const found = await forOperators(archive.actions(filter, before, limit + 1));
    if (found === undefined) throw invalidCursor();
    const { shown, last } = cut(found, limit);
    return { actions: shown.map(actionView), ...(last && { next: last.id }) };
  }

  /** @throws CodedError `history_off` */
  #archive(): OperatorArchive {
    if (this.archive === undefined) throw historyOff();
    return this.archive;
  }
}

/** @throws CodedError `invalid_query` */
function searchOf(
  query: ListQuery & { readonly payer?: string; readonly leastAmount?: string },
): SearchFilter {
  const { payer, leastAmount } = query;
  return { ...narrowingOf(query), payer: readAddress(payer), leastAmount };
}

/**
 * A search over all payees needs a span. The span counts from the start of the page, so that an old cursor can be
 * followed to the end of its list.
 *
 * @throws CodedError `invalid_query`
 */
function checkWindow(
  { payTo, payer, from, to }: SearchFilter,
  now: number,
  after?: Position,
): void {
  if (payTo !== undefined || payer !== undefined) return;
  if (from === undefined) {
    const message = '`from` is required without `payTo` and `payer`.';
    throw invalidQuery(message, placeOf('from', 'a day, or a time with its zone', from));
  }
  const end = after?.claimedAt.getTime() ?? Math.min(to ?? now, now);
  if (end - from > DAYS_MOST * DAY_MS) {
    const expected = `at most ${DAYS_MOST} days before \`to\``;
    throw invalidQuery(`Without \`payTo\` and \`payer\`, \`from\` must be ${expected}.`, {
      path: 'from',
      expected,
    });
  }
}

function webhookView({ webhook, last, backlog }: WebhookState): OperatorWebhook {
  return { ...viewOf(webhook), owner: webhook.owner, last, backlog };
}

function runView({ chainId, ...run }: ReconciliationRun): RunView {
  return { network: caip2Of(chainId), ...run };
}

const MEANINGS: Readonly<Record<string, string>> = { ...DIFFERENCES, ...NOTES };

/** A newer version may write names that this version does not know. */
export function differenceView(difference: KeptDifference): DifferenceView {
  const { name } = difference;
  return { ...difference, ...(Object.hasOwn(MEANINGS, name) && { meaning: MEANINGS[name] }) };
}

export function actionView({ chainId, ...row }: AuditRow): OperatorAction {
  return { ...(chainId !== undefined && { network: caip2Of(chainId) }), ...row };
}
