import { Inject, Injectable } from '@nestjs/common';
import { historyUnavailable } from '../../history/operators/operator-answers.js';
import { SettlementPasts } from '../../history/operators/settlement-past.js';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { ArchiveUnavailableError } from '../../protocol/errors.js';
import { caip2Of } from '../../protocol/payment/network.js';
import { onAnyChain } from '../../settlement/ledger/queries/any-chain.js';
import { SettlementQueries } from '../../settlement/ledger/queries/settlement-queries.js';
import { statusOf } from '../../settlement/ledger/queries/settlement-status.js';
import type { Sale } from '../../settlement/model/settlement.js';
import { AdminService } from './admin.service.js';
import type { SaleView, SettlementLife } from './dto/settlement-life.response.js';

/** The life of a settlement, from wherever it is kept. */
@Injectable()
export class SettlementLives {
  constructor(
    @Inject(ChainRegistry) private readonly chains: Pick<ChainRegistry, 'all'>,
    @Inject(SettlementQueries) private readonly settlementQueries: Pick<SettlementQueries, 'byId'>,
    @Inject(AdminService) private readonly lanes: Pick<AdminService, 'attemptsOf'>,
    @Inject(SettlementPasts) private readonly pasts: Pick<SettlementPasts, 'of'>,
  ) {}

  /**
   * @throws RedisUnavailableError; CodedError `history_unavailable` where the ledger does not know it and the
   *   archive cannot be asked.
   */
  async of(id: string): Promise<SettlementLife | undefined> {
    const chainIds = this.chains.all.map(({ chainId }) => chainId);
    const [known] = await onAnyChain(chainIds, (chainId) =>
      this.settlementQueries.byId(chainId, id),
    ).catch(unlessAway);
    if (known === undefined) return undefined;
    const { chainId, found } = known;
    const { view, details } = found;
    const [attempts, history] = await Promise.all([
      this.lanes.attemptsOf(chainId, id),
      this.pasts.of({
        id,
        chainId,
        claimedAt: details?.times.claimed,
        finishedAt: details?.times.finished,
      }),
    ]);
    return {
      network: caip2Of(chainId),
      settlement: statusOf(found),
      sale: saleOf(view.sale),
      isAsync: view.isAsync,
      attempts,
      history,
    };
  }
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

function unlessAway(error: unknown): never {
  throw error instanceof ArchiveUnavailableError ? historyUnavailable(error) : error;
}
