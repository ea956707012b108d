import type { Hex } from 'viem';
import { ChainUnavailableError } from '../../../protocol/errors.js';
import type { SchemeContracts } from '../../../protocol/evm/contracts.js';
import type {
  AuthorizationRef,
  PresentedAuthorization,
} from '../../../protocol/schemes/authorization-method.js';
import { presentedAuthorizations } from '../../../protocol/schemes/presented.js';
import { isUseEvent, methodNamed } from '../../../protocol/schemes/registry.js';
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
 * Reads blocks for the authorizations that were used in them. All searches of the same block share
 * one read.
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
    const method = methodNamed(ref.method);
    const isNamed = method.useEvents.length > 0;
    const { presented, hashes } = await this.#block(view, number, budget);
    const presenters = presented
      .filter(({ authorization }) => isSameAuthorization(authorization, ref))
      .map(({ transaction }) => transaction);
    for (const transaction of new Set(presenters)) {
      budget.spend();
      const receipt = await view.receipt(transaction);
      if (receipt === undefined) throw new ChainUnavailableError(view.chainId, 'receipt');
      if (receipt.isSuccess && (!isNamed || method.isNamedIn(receipt.logs, ref))) {
        return transaction;
      }
    }
    // Without an event it is not known who presented it through a contract of its own.
    if (!isNamed) return undefined;
    const receipts = await this.#receiptsOf(view, number, hashes, budget);
    return receipts.find(({ isSuccess, logs }) => isSuccess && method.isNamedIn(logs, ref))?.hash;
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
      return all.filter(({ logs }) => logs.some(({ topics }) => isUseEvent(topics[0])));
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
