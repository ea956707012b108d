import { Inject, Injectable } from '@nestjs/common';
import type { Hex } from 'viem';
import { type SettlementPast, SettlementPasts } from '../../history/operators/settlement-past.js';
import { historyUnavailable } from '../../history/sellers/history-problems.js';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { ArchiveUnavailableError, ChainUnavailableError } from '../../protocol/errors.js';
import { caip2Of } from '../../protocol/payment/network.js';
import { schemeNamed } from '../../protocol/schemes/registry.js';
import { UNCLAIMED_CLOSED } from '../../settlement/ledger/audit-entry.js';
import { onAnyChain } from '../../settlement/ledger/queries/any-chain.js';
import { SettlementQueries } from '../../settlement/ledger/queries/settlement-queries.js';
import {
  type SettlementStatus,
  statusOf,
} from '../../settlement/ledger/queries/settlement-status.js';
import type { Sale, SettlementView } from '../../settlement/model/settlement.js';
import { AdminService } from './admin.service.js';
import type { ClosingView, SaleView, SettlementLife } from './dto/settlement-life.response.js';

/** The life of a settlement, from the ledger or the archive. */
@Injectable()
export class SettlementLives {
  constructor(
    @Inject(ChainRegistry) private readonly chains: Pick<ChainRegistry, 'all' | 'get'>,
    @Inject(SettlementQueries) private readonly settlementQueries: Pick<SettlementQueries, 'byId'>,
    @Inject(AdminService) private readonly lanes: Pick<AdminService, 'attemptsOf'>,
    @Inject(SettlementPasts) private readonly pasts: Pick<SettlementPasts, 'of'>,
  ) {}

  /**
   * @throws RedisUnavailableError; CodedError `history_unavailable` where the ledger does not have it and the archive
   *   does not answer.
   */
  async of(id: string): Promise<SettlementLife | undefined> {
    const chainIds = this.chains.all.map(({ chainId }) => chainId);
    const [known] = await onAnyChain(chainIds, (chainId) =>
      this.settlementQueries.byId(chainId, id),
    ).catch(unlessAway);
    if (known === undefined) return undefined;
    const { chainId, found } = known;
    const { view, details } = found;
    const settlement = statusOf(found);
    const [attempts, history, channels] = await Promise.all([
      this.lanes.attemptsOf(chainId, id),
      this.pasts.of({
        id,
        chainId,
        claimedAt: details?.times.claimed,
        finishedAt: details?.times.finished,
      }),
      this.#channelsOf(chainId, settlement),
    ]);
    const closed = closingOf(view, history);
    return {
      network: caip2Of(chainId),
      settlement,
      sale: saleOf(view.sale),
      ...(closed !== undefined && { closed }),
      isAsync: view.isAsync,
      attempts,
      ...(channels !== undefined && { channels }),
      history,
    };
  }

  /** @returns `undefined` for a payment, and where no node shows its transaction now. */
  async #channelsOf(
    chainId: number,
    { payment, transaction, logIndex }: SettlementStatus,
  ): Promise<SettlementLife['channels']> {
    const chain = this.chains.get(chainId);
    if (payment?.action === undefined || transaction === undefined) return undefined;
    const receipt = await chain
      ?.withView((view) => view.receipt(transaction as Hex))
      .catch(unlessUnavailable);
    const events = receipt && schemeNamed(payment.scheme, 2)?.channelEventsIn?.(receipt.logs);
    // Deposits share transactions, and each has its own log.
    return events
      ?.filter((one) => logIndex === undefined || one.logIndex === logIndex)
      .map(({ event, channelId, amount }) => ({
        event,
        ...(channelId !== undefined && { channelId }),
        amount: amount.toString(),
      }));
  }
}

/** The ledger knows the time, the history the operator as well, some seconds later. */
function closingOf(
  { id, closedAt }: SettlementView,
  past: SettlementPast,
): ClosingView | undefined {
  const actions = past.status === 'known' ? past.actions : [];
  const noted = actions.find(
    ({ action, subject }) => action === UNCLAIMED_CLOSED && subject === id,
  );
  if (noted !== undefined) return { at: noted.at.toISOString(), by: noted.by };
  return closedAt === undefined ? undefined : { at: new Date(closedAt).toISOString() };
}

function saleOf({ state, requester, boundKeyTag, soldKeyTag }: Sale): SaleView {
  return {
    state,
    ...(requester !== undefined && { requester }),
    isBoundToKey: isGiven(boundKeyTag),
    isSoldToKey: isGiven(soldKeyTag),
  };
}

const isGiven = (tag: string | undefined): boolean => tag !== undefined && tag !== '';

function unlessUnavailable(error: unknown): undefined {
  if (!(error instanceof ChainUnavailableError)) throw error;
}

function unlessAway(error: unknown): never {
  throw error instanceof ArchiveUnavailableError ? historyUnavailable(error) : error;
}
