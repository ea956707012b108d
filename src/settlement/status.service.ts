import type { Address, Hex } from 'viem';
import {
  type AuthorizationRef,
  findAuthorizationUse,
  isAuthorizationUsed,
  readBlockNumber,
} from '../chain/authorization-use.js';
import type { ChainRegistry } from '../chain/chain-registry.js';
import type { EvmChain } from '../chain/evm-chain.js';
import { caip2Of } from '../core/payment/network.js';
import { settlementIdOf } from '../core/settlement/identity.js';
import type { Story, StoryReader } from '../ledger/story.js';

/** A settlement as anyone may see it: whether it landed, not whether it is yours to sell. */
export interface SettlementStatus {
  readonly settlementId: string;
  readonly source: 'ledger';
  readonly state: Story['view']['state'];
  /** Whether the payee has been paid by it, at the certainty of `finality`. */
  readonly paid: boolean;
  readonly finality: 'none' | 'included' | 'finalized';
  readonly sale: Story['view']['sale']['state'];
  readonly reason?: string;
  readonly transaction?: string;
  readonly transactions?: readonly string[];
  readonly block?: { readonly number: string; readonly hash?: string };
  readonly logIndex?: number;
  readonly batchSize?: number;
  readonly payment?: Readonly<Record<string, string>>;
  /** ISO 8601. */
  readonly times?: Readonly<Record<string, string>>;
}

/** What the chain says of an authorization that the ledger does not know. */
export interface ChainStatus {
  readonly source: 'chain';
  readonly used: boolean;
  readonly method?: 'eip3009' | 'permit2';
  readonly transaction?: string;
  readonly block?: { readonly number: string };
}

export interface AuthorizationQuery {
  readonly chainId: number;
  readonly asset: Address;
  readonly payer: Address;
  readonly nonce: bigint;
}

/** About three hours of BNB Chain. */
const LOOK_BACK_BLOCKS = 25_000n;

export class StatusService {
  constructor(
    private readonly stories: StoryReader,
    private readonly chains: ChainRegistry,
  ) {}

  /** @throws LedgerUnavailableError */
  async byId(id: string): Promise<SettlementStatus | undefined> {
    const story = await this.stories.read(id);
    return story && statusOf(id, story);
  }

  /** Every settlement a transaction carries, on whichever network served here. */
  async byTransaction(transaction: Hex): Promise<readonly SettlementStatus[]> {
    const ids = await Promise.all(
      this.chains.all.map(({ chainId }) => this.stories.idsOf(chainId, transaction)),
    );
    const found = await Promise.all(ids.flat().map((id) => this.byId(id)));
    return found.filter((status) => status !== undefined);
  }

  /**
   * By what the chain executes at most once. Where the ledger does not know it the chain is asked.
   *
   * @throws LedgerUnavailableError, ChainUnavailableError
   */
  async byAuthorization(query: AuthorizationQuery): Promise<SettlementStatus | ChainStatus> {
    for (const method of ['eip3009', 'permit2'] as const) {
      const id = settlementIdOf(method, query.chainId, query.asset, query.payer, query.nonce);
      const story = await this.stories.read(id);
      const isOfAsset = story?.details === undefined || story.details.token === query.asset;
      if (story !== undefined && isOfAsset) return statusOf(id, story);
    }
    const chain = this.chains.get(query.chainId);
    return (chain && (await onChain(chain, query))) ?? { source: 'chain', used: false };
  }
}

async function onChain(
  chain: EvmChain,
  { asset, payer, nonce }: AuthorizationQuery,
): Promise<ChainStatus | undefined> {
  for (const method of ['eip3009', 'permit2'] as const) {
    const ref: AuthorizationRef = { method, asset, payer, nonce };
    if ((await chain.withView((view) => isAuthorizationUsed(view, ref))) !== true) continue;
    const head = await chain.withView(readBlockNumber);
    const use = await findAuthorizationUse(chain, ref, head, LOOK_BACK_BLOCKS);
    // A Permit2 nonce is used for one token only; without the transaction it may be another one.
    if (use === undefined && method === 'permit2') return { source: 'chain', used: true, method };
    return {
      source: 'chain',
      used: true,
      method,
      ...(use !== undefined && {
        transaction: use.transaction,
        block: { number: use.blockNumber.toString() },
      }),
    };
  }
  return undefined;
}

function statusOf(id: string, { view, details }: Story): SettlementStatus {
  const { blockNumber, logIndex, batchSize, reason, transaction } = view;
  const isFinal = view.state !== 'included' && view.isPaid;
  return {
    settlementId: id,
    source: 'ledger',
    state: view.state,
    paid: view.isPaid,
    finality: view.isPaid ? (isFinal ? 'finalized' : 'included') : 'none',
    sale: view.sale.state,
    ...(reason !== undefined && { reason }),
    ...(transaction !== undefined && { transaction }),
    ...(details !== undefined && { transactions: details.hashes }),
    ...(blockNumber !== undefined && {
      block: {
        number: blockNumber.toString(),
        ...(details?.blockHash !== undefined && { hash: details.blockHash }),
      },
    }),
    ...(logIndex !== undefined && { logIndex }),
    ...(batchSize !== undefined && { batchSize }),
    ...(details !== undefined && { payment: paymentOf(details), times: timesOf(details) }),
  };
}

function paymentOf(details: NonNullable<Story['details']>): Readonly<Record<string, string>> {
  return {
    network: caip2Of(details.chainId),
    scheme: 'exact',
    method: details.method,
    asset: details.token,
    payer: details.payer,
    payTo: details.payTo,
    amount: details.amount.toString(),
    nonce: details.authorizationNonce.toString(),
    deadline: details.deadline.toString(),
  };
}

function timesOf({ times }: NonNullable<Story['details']>): Readonly<Record<string, string>> {
  const known = Object.entries(times).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number',
  );
  return Object.fromEntries(known.map(([name, ms]) => [name, new Date(ms).toISOString()]));
}
