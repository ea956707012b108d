import type { Address, Hex } from 'viem';
import type { AuthorizationRef } from '../../protocol/schemes/authorization-method.js';
import {
  type AuthorizationUse,
  isAuthorizationUsed,
} from '../../platform/chain/authorization-use.js';
import type { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import { within } from '../../platform/concurrency/timing.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { caip2Of } from '../../protocol/payment/network.js';
import { authorizationIdOf, type PaymentIdentity } from '../../protocol/payment/identity.js';
import { allMethods } from '../../protocol/schemes/registry.js';
import type { Story, StoryReader } from '../../settlement/ledger/queries/story.js';
import type { TransferMethod } from '../../protocol/evm/transfer-method.js';

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
  readonly method?: TransferMethod;
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
/** What is used is known; by whom is worth waiting for this long. */
const PATIENCE_MS = 1500;

export class StatusService {
  constructor(
    private readonly stories: StoryReader,
    private readonly chains: ChainRegistry,
  ) {}

  /** @throws RedisUnavailableError */
  async byId(id: string): Promise<SettlementStatus | undefined> {
    const stories = await Promise.all(
      this.chains.all.map(({ chainId }) => this.stories.read(chainId, id)),
    );
    const story = stories.find((one) => one !== undefined);
    return story && statusOf(story);
  }

  /** Every settlement a transaction carries, on whichever network served here. */
  async byTransaction(transaction: Hex): Promise<readonly SettlementStatus[]> {
    const found = await Promise.all(
      this.chains.all.map(async ({ chainId }) => {
        const ids = await this.stories.idsOf(chainId, transaction);
        return Promise.all(ids.map((id) => this.stories.read(chainId, id)));
      }),
    );
    return found.flat().flatMap((story) => (story === undefined ? [] : [statusOf(story)]));
  }

  /** The claim that counts for a payment; one of other terms does not. */
  async byPayment(
    chainId: number,
    { authorizationId, termsTag }: PaymentIdentity,
  ): Promise<SettlementStatus | undefined> {
    const stories = await this.stories.claimsOf(chainId, [authorizationId]);
    const story = stories.find(({ view }) => view.termsTag === termsTag);
    return story && statusOf(story);
  }

  /**
   * By what the chain executes at most once. Where the ledger does not know it the chain is asked.
   *
   * @throws RedisUnavailableError, ChainUnavailableError
   */
  async byAuthorization(query: AuthorizationQuery): Promise<SettlementStatus | ChainStatus> {
    const { chainId, asset, payer, nonce } = query;
    const ids = allMethods().map(({ name }) =>
      authorizationIdOf(name, chainId, asset, payer, nonce),
    );
    const stories = await this.stories.claimsOf(chainId, ids);
    const story = stories.find(({ details }) => details === undefined || details.token === asset);
    if (story !== undefined) return statusOf(story);
    const chain = this.chains.get(query.chainId);
    return (chain && (await onChain(chain, query))) ?? { source: 'chain', used: false };
  }
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
      method,
      ...(use !== undefined && {
        transaction: use.transaction,
        block: { number: use.blockNumber.toString() },
      }),
    };
  }
  return undefined;
}

/** Who used it, as far as it can be told within the patience of a look-up. */
async function userOf(
  chain: EvmChain,
  ref: AuthorizationRef,
): Promise<AuthorizationUse | undefined> {
  const search = async (): Promise<AuthorizationUse | undefined> => {
    const to = await chain.withView((view) => view.blockNumber());
    const from = to > LOOK_BACK_BLOCKS ? to - LOOK_BACK_BLOCKS : 0n;
    const outcome = await chain.uses.find(ref, { from, to });
    return outcome.kind === 'found' ? outcome.use : undefined;
  };
  try {
    const found = await within(PATIENCE_MS, search());
    return found.inTime ? found.value : undefined;
  } catch (error) {
    if (!(error instanceof ChainUnavailableError)) throw error;
    return undefined;
  }
}

function statusOf({ view, details }: Story): SettlementStatus {
  const { id, blockNumber, logIndex, batchSize, reason, transaction } = view;
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
    scheme: details.scheme,
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
