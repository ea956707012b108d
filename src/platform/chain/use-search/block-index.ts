import type { Hex } from 'viem';
import type { SchemeContracts } from '../../../protocol/evm/contracts.js';
import {
  AUTHORIZATION_CANCELED_TOPIC,
  AUTHORIZATION_USED_TOPIC,
  type ReceiptLog,
} from '../../../protocol/evm/logs.js';
import {
  type PresentedAuthorization,
  presentedAuthorizations,
} from '../../../protocol/schemes/exact/decoded-authorizations.js';
import { addressWord, uintWord } from '../../../protocol/evm/abi-words.js';
import { ChainUnavailableError } from '../../../protocol/errors.js';
import type { AuthorizationRef } from '../authorization-use.js';
import type { ChainView } from '../chain-view.js';
import type { Receipt } from '../receipt.js';
import type { SearchBudget } from './budget.js';

/** What one block did with authorizations, as far as its calldata and receipts show. */
interface IndexedBlock {
  readonly hashes: readonly Hex[];
  readonly presented: readonly {
    readonly transaction: Hex;
    readonly authorization: PresentedAuthorization;
  }[];
}

/** Blocks that are remembered at once, and for how long: a mistake of a node is not kept longer. */
const KEPT_BLOCKS = 256;
const KEPT_MS = 10_000;
/** Receipts that are read one by one where a node does not give those of a block at once. */
const SINGLE_RECEIPTS_MAX = 300;

interface Kept<T> {
  readonly at: number;
  readonly value: Promise<T>;
}

/**
 * Reads blocks for the authorizations that were used in them. What was read serves everybody who asks
 * about the same block.
 */
export class BlockIndex {
  readonly #blocks = new Map<string, Kept<IndexedBlock>>();
  readonly #receipts = new Map<string, Kept<readonly Receipt[]>>();

  constructor(private readonly schemeContracts: SchemeContracts) {}

  /**
   * The transaction of a block that used an authorization.
   *
   * @returns `undefined` when none of them did, in a way that can be read.
   * @throws ChainUnavailableError, BudgetSpentError
   */
  async find(
    view: ChainView,
    ref: AuthorizationRef,
    number: bigint,
    budget: SearchBudget,
  ): Promise<Hex | undefined> {
    const { presented, hashes } = await this.#block(view, number, budget);
    const presenters = presented
      .filter(({ authorization }) => isSameAuthorization(authorization, ref))
      .map(({ transaction }) => transaction);
    for (const transaction of new Set(presenters)) {
      budget.spend();
      const receipt = await view.receipt(transaction);
      if (receipt === undefined) throw new ChainUnavailableError(view.chainId, 'receipt');
      if (receipt.isSuccess && (ref.method === 'permit2' || usesIn(receipt.logs, ref))) {
        return transaction;
      }
    }
    // Permit2 leaves no event: who called it through a contract of his own cannot be told.
    if (ref.method === 'permit2') return undefined;
    const receipts = await this.#receiptsOf(view, number, hashes, budget);
    return receipts.find(({ isSuccess, logs }) => isSuccess && usesIn(logs, ref))?.hash;
  }

  #block(view: ChainView, number: bigint, budget: SearchBudget): Promise<IndexedBlock> {
    return remember(this.#blocks, keyOf(view, number), async () => {
      budget.spend();
      const block = await view.fullBlock(number);
      if (block === undefined) throw new ChainUnavailableError(view.chainId, 'full block');
      const presented = block.transactions.flatMap(({ hash, to, input }) =>
        presentedAuthorizations(to, input, this.schemeContracts).map((authorization) => ({
          transaction: hash,
          authorization,
        })),
      );
      return { hashes: block.transactions.map(({ hash }) => hash), presented };
    });
  }

  /** Only receipts with events of authorizations are kept. */
  #receiptsOf(
    view: ChainView,
    number: bigint,
    hashes: readonly Hex[],
    budget: SearchBudget,
  ): Promise<readonly Receipt[]> {
    return remember(this.#receipts, keyOf(view, number), async () => {
      const all = await this.#readReceipts(view, number, hashes, budget);
      return all.filter(({ logs }) => logs.some(({ topics }) => isUseTopic(topics[0])));
    });
  }

  async #readReceipts(
    view: ChainView,
    number: bigint,
    hashes: readonly Hex[],
    budget: SearchBudget,
  ): Promise<readonly Receipt[]> {
    if (hashes.length === 0) return [];
    budget.spend();
    try {
      const receipts = await view.blockReceipts(number);
      if (receipts?.length === hashes.length) return receipts;
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
    }
    if (hashes.length > SINGLE_RECEIPTS_MAX) {
      throw new ChainUnavailableError(view.chainId, 'block receipts');
    }
    // They travel together: some HTTP requests, whatever their number.
    budget.spend(Math.ceil(hashes.length / 10));
    const receipts = await Promise.all(hashes.map((hash) => view.receipt(hash)));
    const read = receipts.filter((one) => one !== undefined);
    if (read.length < hashes.length) throw new ChainUnavailableError(view.chainId, 'receipt');
    return read;
  }
}

/** Whether the logs of a transaction name this EIP-3009 authorization as used or cancelled. */
export function usesIn(
  logs: readonly ReceiptLog[],
  { asset, payer, nonce }: AuthorizationRef,
): boolean {
  return logs.some(
    ({ address, topics: [event, by, used] }) =>
      address === asset &&
      isUseTopic(event) &&
      by === `0x${addressWord(payer)}` &&
      used === `0x${uintWord(nonce)}`,
  );
}

/** Whether what a transaction presents is this authorization, for this payment where that is known. */
export function isSameAuthorization(one: PresentedAuthorization, ref: AuthorizationRef): boolean {
  return (
    one.method === ref.method &&
    one.token === ref.asset &&
    one.from === ref.payer &&
    one.nonce === ref.nonce &&
    (ref.payTo === undefined || one.to === ref.payTo) &&
    (ref.amount === undefined || one.amount === ref.amount)
  );
}

function isUseTopic(topic: Hex | undefined): boolean {
  return topic === AUTHORIZATION_USED_TOPIC || topic === AUTHORIZATION_CANCELED_TOPIC;
}

function keyOf({ health }: ChainView, number: bigint): string {
  return `${health.endpoint.name}:${number}`;
}

function remember<T>(kept: Map<string, Kept<T>>, key: string, read: () => Promise<T>): Promise<T> {
  const now = performance.now();
  const known = kept.get(key);
  if (known !== undefined && now - known.at < KEPT_MS) return known.value;
  const value = read();
  kept.delete(key);
  kept.set(key, { at: now, value });
  value.catch(() => {
    if (kept.get(key)?.value === value) kept.delete(key);
  });
  const [oldest] = kept.keys();
  if (kept.size > KEPT_BLOCKS && oldest !== undefined) kept.delete(oldest);
  return value;
}
