import { readQuery } from '../../platform/http/read-query.js';
import { caip2Of } from '../../protocol/payment/network.js';
import type { SettlementPage } from '../../settlement/ledger/queries/settlement-listing.js';
import { statusOf } from '../../settlement/ledger/queries/settlement-status.js';
import { DIFFERENCES, NOTES } from '../reconciliation/difference.js';
import { decodeCursor, encodeCursor } from '../sellers/cursor.js';
import { historyOff, invalidCursor } from '../sellers/history-problems.js';
import { checkOrder } from '../sellers/settlement-filter.js';
import { checkRange, type SettlementTotals, sumsBy } from '../sellers/settlement-totals.js';
import { deliveryViewOf, viewOf } from '../webhooks/webhook-view.js';
import { told } from './operator-answers.js';
import type {
  AuditRow,
  KeptDifference,
  OperatorArchive,
  ReconciliationRun,
  WebhookState,
} from './operator-archive.js';
import {
  AUDIT_QUERY,
  checkWindow,
  DAYS_MOST,
  DELIVERIES_QUERY,
  isRunId,
  isWebhookId,
  RUN_QUERY,
  RUNS_QUERY,
  SEARCH_QUERY,
  searchOf,
  SUMS_QUERY,
  WEBHOOKS_QUERY,
} from './operator-query.js';

/** A part of an answer: dates become ISO 8601 in it, and what is not known is left out. */
type View = Readonly<Record<string, unknown>>;

const DAYS_OF_ONE_MOST = 366;
const LANES_MOST = 200;

/**
 * The history as operators see it: over all payees, and never without a bound.
 *
 * @throws CodedError from every method: `invalid_query`, `invalid_cursor`, `history_off`,
 *   `history_unavailable`, `history_too_slow`.
 */
export class OperatorHistory {
  /** @param archive - `undefined` without a history. */
  constructor(
    private readonly archive: OperatorArchive | undefined,
    private readonly now: () => number,
  ) {}

  async settlements(query: unknown): Promise<SettlementPage> {
    const archive = this.#archive();
    const { limit, cursor, ...asked } = readQuery(SEARCH_QUERY, query);
    const filter = searchOf(asked);
    const after = cursor === undefined ? undefined : decodeCursor(cursor, filter);
    checkWindow(filter, this.now(), after);
    const { shown, last } = cut(await told(archive.page(filter, after, limit + 1)), limit);
    return {
      settlements: shown.map(({ settlement }) => ({ ...statusOf(settlement), source: 'archive' })),
      ...(last !== undefined && { nextCursor: encodeCursor(last.position, filter) }),
    };
  }

  async totals(query: unknown): Promise<SettlementTotals> {
    const archive = this.#archive();
    const { groupBy, ...asked } = readQuery(SUMS_QUERY, query);
    const filter = searchOf(asked);
    const isOfOne = filter.payTo !== undefined || filter.payer !== undefined;
    checkRange(filter.from, filter.to ?? this.now(), isOfOne ? DAYS_OF_ONE_MOST : DAYS_MOST);
    return told(sumsBy(groupBy, (grouping, most) => archive.totals(filter, grouping, most)));
  }

  async webhooks(query: unknown): Promise<View> {
    const archive = this.#archive();
    const { limit, owner, status, after } = readQuery(WEBHOOKS_QUERY, query);
    const found = await told(archive.webhooks({ owner, status, after }, limit + 1));
    const { shown, last } = cut(found, limit);
    return { webhooks: shown.map(webhookView), ...(last && { next: last.webhook.id }) };
  }

  /** @returns `undefined` for what is the id of no webhook. */
  async deliveries(id: string, query: unknown): Promise<View | undefined> {
    const archive = this.#archive();
    const { limit, before } = readQuery(DELIVERIES_QUERY, query);
    if (!isWebhookId(id)) return undefined;
    const found = await told(archive.deliveries(id, before, limit + 1));
    if (found === undefined) throw invalidCursor();
    const { shown, last } = cut(found, limit);
    return { deliveries: shown.map(deliveryViewOf), ...(last && { next: last.eventId }) };
  }

  async reconciliations(query: unknown): Promise<View> {
    const archive = this.#archive();
    const { network, before, limit } = readQuery(RUNS_QUERY, query);
    const { shown, last } = cut(await told(archive.runs(network, before, limit + 1)), limit);
    return { runs: shown.map(runView), ...(last && { next: last.id }) };
  }

  /** @returns `undefined` for what is the id of no run. */
  async reconciliation(id: string, query: unknown): Promise<View | undefined> {
    const archive = this.#archive();
    const { after, limit } = readQuery(RUN_QUERY, query);
    const run = isRunId(id) ? await told(archive.run(id)) : undefined;
    if (run === undefined) return undefined;
    const [lanes, found] = await Promise.all([
      told(archive.lanesOf(id, LANES_MOST)),
      told(archive.differencesIn(id, after, limit + 1)),
    ]);
    const { shown, last } = cut(found, limit);
    return {
      ...runView(run),
      lanes,
      found: shown.map(differenceView),
      ...(last && { next: String(last.number) }),
    };
  }

  async audit(query: unknown): Promise<View> {
    const archive = this.#archive();
    const {
      network: chainId,
      by,
      subject,
      before,
      limit,
      ...times
    } = readQuery(AUDIT_QUERY, query);
    checkOrder(times);
    const [from, to] = [times.from, times.to].map((ms) =>
      ms === undefined ? undefined : new Date(ms),
    );
    const filter = { chainId, by, subject, from, to };
    const found = await told(archive.actions(filter, before, limit + 1));
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

/** One more than is shown says whether there is another page, which begins after the last one shown. */
function cut<T>(
  found: readonly T[],
  limit: number,
): { readonly shown: readonly T[]; readonly last: T | undefined } {
  const shown = found.slice(0, limit);
  return { shown, last: found.length > limit ? shown.at(-1) : undefined };
}

function webhookView({ webhook, last, backlog }: WebhookState): View {
  return { ...viewOf(webhook), owner: webhook.owner, last, backlog };
}

function runView({ chainId, ...run }: ReconciliationRun): View {
  return { network: caip2Of(chainId), ...run };
}

const MEANINGS: Readonly<Record<string, string>> = { ...DIFFERENCES, ...NOTES };

/** A newer version may write names that this one does not know. */
export function differenceView(difference: KeptDifference): View {
  const { name } = difference;
  return { ...difference, ...(Object.hasOwn(MEANINGS, name) && { meaning: MEANINGS[name] }) };
}

export function actionView({ chainId, ...row }: AuditRow): View {
  return { ...(chainId !== undefined && { network: caip2Of(chainId) }), ...row };
}
