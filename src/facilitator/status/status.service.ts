import { Inject, Injectable } from '@nestjs/common';
import type { Address, Hex } from 'viem';
import {
  type AuthorizationUse,
  isAuthorizationUsed,
} from '../../platform/chain/authorization-use.js';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import { movedBy } from '../../platform/chain/use-search/moved.js';
import { LOOK_BACK_BLOCKS } from '../../platform/chain/use-search/scan.js';
import { withTimeout } from '../../platform/concurrency/timing.js';
import { ArchiveUnavailableError, ChainUnavailableError } from '../../protocol/errors.js';
import type { ActionMethod } from '../../protocol/evm/transfer-method.js';
import { authorizationIdOf, type PaymentIdentity } from '../../protocol/payment/identity.js';
import { caip2Of } from '../../protocol/payment/network.js';
import type { AuthorizationRef } from '../../protocol/schemes/authorization-method.js';
import { presentedAuthorizations } from '../../protocol/schemes/presented.js';
import { allMethods } from '../../protocol/schemes/registry.js';
import type { LabelStore } from '../../settlement/ledger/label-store.js';
import { LABEL_STORE } from '../../settlement/ledger/ledger.module.js';
import { onAnyChain } from '../../settlement/ledger/queries/any-chain.js';
import { SettlementQueries } from '../../settlement/ledger/queries/settlement-queries.js';
import {
  type SettlementStatus,
  statusOf,
} from '../../settlement/ledger/queries/settlement-status.js';

/** The facts on chain about an authorization that the ledger does not have. */
export interface ChainStatus {
  readonly source: 'chain';
  readonly used: boolean;
  /** Whether its transaction moved the signed payment, and the amount. */
  readonly paid: boolean;
  readonly payment?: Readonly<Record<string, string>>;
  readonly method?: ActionMethod;
  readonly transaction?: string;
  readonly block?: { readonly number: string };
}

/** An authorization used by a transaction of another sender. */
export interface ChainUse extends ChainStatus {
  readonly payment: Readonly<Record<string, string>>;
}

interface AuthorizationQuery {
  readonly chainId: number;
  readonly asset: Address;
  readonly payer: Address;
  readonly nonce: bigint;
}

/** Limit of the search for the transaction that used an authorization. The fact that it is used is known earlier. */
const USE_SEARCH_TIMEOUT_MS = 1500;

@Injectable()
export class StatusService {
  constructor(
    private readonly settlements: SettlementQueries,
    private readonly chains: ChainRegistry,
    @Inject(LABEL_STORE) private readonly labels: Pick<LabelStore, 'of'>,
  ) {}

  /** @throws RedisUnavailableError */
  async byId(id: string): Promise<SettlementStatus | undefined> {
    const [settlement] = await onAnyChain(this.#chainIds, (chainId) =>
      this.settlements.byId(chainId, id),
    );
    return settlement && statusOf(settlement.found);
  }

  /** Every settlement of a transaction, on any network served here. */
  async byTransaction(transaction: Hex): Promise<readonly SettlementStatus[]> {
    const carried = await onAnyChain(this.#chainIds, async (chainId) => {
      const found = await this.settlements.byTransaction(chainId, transaction);
      return found.length === 0 ? undefined : found;
    });
    return carried.flatMap(({ found }) => found).map(statusOf);
  }

  /**
   * The authorizations used by a transaction without a settlement, as the chains show them: another sender's
   * transaction may have paid the payee.
   *
   * @throws ChainUnavailableError
   */
  async usesIn(transaction: Hex): Promise<readonly ChainUse[]> {
    const used = await onAnyChain(this.#chainIds, async (chainId) => {
      const chain = this.chains.get(chainId);
      return chain && usesIn(chain, transaction);
    });
    return used.flatMap(({ found }) => found);
  }

  /**
   * The claims under a label, newest first, without claims that were never made or are gone.
   *
   * @param tag - see `labelTagOf`.
   */
  async byLabel(tag: string): Promise<readonly SettlementStatus[]> {
    const refs = await this.labels.of(tag);
    const found = await Promise.all(
      refs.map(({ chainId, id }) => this.settlements.byId(chainId, id)),
    );
    return found.flatMap((one) => (one === undefined ? [] : [statusOf(one)]));
  }

  /** The claim that counts for a payment; a claim with other terms does not. */
  async byPayment(
    chainId: number,
    { authorizationId, termsTag }: PaymentIdentity,
  ): Promise<SettlementStatus | undefined> {
    const claims = await this.settlements.claimsOf(chainId, [authorizationId]);
    const claim = claims.find(({ view }) => view.termsTag === termsTag);
    return claim && statusOf(claim);
  }

  /**
   * By the id that the chain executes at most once. If neither ledger nor archive has it, the chain is asked.
   *
   * @throws RedisUnavailableError, ChainUnavailableError; ArchiveUnavailableError where the chain has nothing of it
   *   either.
   */
  async byAuthorization(query: AuthorizationQuery): Promise<SettlementStatus | ChainStatus> {
    const { chainId, asset } = query;
    const ids = authorizationIdsOf(query);
    const claims = await this.settlements.claimsOf(chainId, ids).catch(unlessAway);
    const found = claims instanceof ArchiveUnavailableError ? [] : claims;
    const claim = found.find(({ details }) => details === undefined || details.token === asset);
    if (claim !== undefined) return statusOf(claim);
    const chain = this.chains.get(query.chainId);
    const use = chain && (await onChain(chain, query));
    if (use === undefined && claims instanceof ArchiveUnavailableError) throw claims;
    return use ?? { source: 'chain', used: false, paid: false };
  }

  get #chainIds(): readonly number[] {
    return this.chains.all.map(({ chainId }) => chainId);
  }
}

/** Its possible ids: one for each transfer method. */
export function authorizationIdsOf(query: AuthorizationQuery): readonly string[] {
  const { chainId, asset, payer, nonce } = query;
  return allMethods().map(({ name }) => authorizationIdOf(name, chainId, asset, payer, nonce));
}

/** The chain may have an outcome that the archive cannot give now. */
function unlessAway(error: unknown): ArchiveUnavailableError {
  if (error instanceof ArchiveUnavailableError) return error;
  throw error;
}

async function onChain(
  chain: EvmChain,
  { asset, payer, nonce }: AuthorizationQuery,
): Promise<ChainStatus | undefined> {
  for (const { name: method } of allMethods()) {
    const ref: AuthorizationRef = { method, asset, payer, nonce };
    if ((await chain.withView((view) => isAuthorizationUsed(view, ref))) !== true) continue;
    const use = await userOf(chain, ref);
    return {
      source: 'chain',
      used: true,
      paid: use?.moved !== undefined,
      method,
      ...(use?.moved && {
        payment: { payTo: use.moved.payTo, amount: use.moved.amount.toString() },
      }),
      ...(use !== undefined && {
        transaction: use.transaction,
        block: { number: use.blockNumber.toString() },
      }),
    };
  }
  return undefined;
}

/** Limit of the list: a transaction of a stranger may carry any number. */
const USES_MAX = 64;

/** `undefined` where the chain does not have the transaction. */
async function usesIn(chain: EvmChain, hash: Hex): Promise<readonly ChainUse[] | undefined> {
  const [receipt, transaction] = await chain.withView((view) =>
    Promise.all([view.receipt(hash), view.transaction(hash)]),
  );
  if (receipt?.isSuccess !== true || transaction === undefined) return undefined;
  const presented = presentedAuthorizations(
    transaction.to,
    transaction.input,
    chain.schemeContracts,
  ).slice(0, USES_MAX);
  return presented.map(({ method, token: asset, from: payer, to: payTo, amount, nonce }) => {
    const ref = { method, asset, payer, nonce, payTo, amount };
    return {
      source: 'chain',
      used: true,
      method,
      transaction: hash,
      paid: movedBy(ref, receipt, presented) !== undefined,
      block: { number: receipt.blockNumber.toString() },
      payment: {
        network: caip2Of(chain.chainId),
        asset,
        payer,
        payTo,
        amount: amount.toString(),
        nonce: nonce.toString(),
      },
    };
  });
}

/** The transaction that used it, if a search within the time-out of a look-up finds it. */
async function userOf(
  chain: EvmChain,
  ref: AuthorizationRef,
): Promise<AuthorizationUse | undefined> {
  const search = async (): Promise<AuthorizationUse | undefined> => {
    const outcome = await chain.uses.find(ref, await chain.recentBlocks(LOOK_BACK_BLOCKS));
    return outcome.kind === 'found' ? outcome.use : undefined;
  };
  try {
    const found = await withTimeout(USE_SEARCH_TIMEOUT_MS, search());
    return found.inTime ? found.value : undefined;
  } catch (error) {
    if (!(error instanceof ChainUnavailableError)) throw error;
    return undefined;
  }
}
