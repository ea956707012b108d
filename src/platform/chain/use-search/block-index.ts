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
import { isPaidWhole, isSameAuthorization, onlyOf } from './moved.js';

/** The used authorizations of one block, as far as calldata and receipts show them. */
interface IndexedBlock {
  readonly hashes: readonly Hex[];
  readonly presented: readonly {
    readonly transaction: Hex;
    readonly authorization: PresentedAuthorization;
  }[];
}

/** Limits of the cache of blocks; a mistake of a node is not kept longer. */
const KEPT_BLOCKS = 256;
const KEPT_MS = 10_000;
/** Receipts that are read one by one from a node without block receipts. */
const SINGLE_RECEIPTS_MAX = 300;

interface Kept<T> {
  readonly at: number;
  readonly value: Promise<T>;
}

/** Reads blocks for their used authorizations. All searches of one block share one read. */
export class BlockIndex {
  readonly #blocks = new Map<string, Kept<IndexedBlock>>();
  readonly #receipts = new Map<string, Kept<readonly Receipt[]>>();

  constructor(private readonly schemeContracts: SchemeContracts) {}

  /**
   * The transaction of a block that used an authorization.
   *
   * @returns `undefined` when no transaction of the block used it in a readable way.
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
    const succeeded: Receipt[] = [];
    for (const transaction of new Set(presenters)) {
      budget.spend();
      const receipt = await view.receipt(transaction);
      if (receipt === undefined) throw new ChainUnavailableError(view.chainId, 'receipt');
      if (!receipt.isSuccess) continue;
      if (isNamed && method.isNamedIn(receipt.logs, ref)) return transaction;
      succeeded.push(receipt);
    }
    // Without an event, a use through another contract cannot be assigned.
    if (!isNamed) {
      const isUser = (receipt: Receipt): boolean => {
        const own = presented.filter(({ transaction }) => transaction === receipt.hash);
        return isPaidWhole(
          ref,
          receipt,
          own.map(({ authorization }) => authorization),
        );
      };
      if (succeeded.length < 2 || ref.shownBy !== undefined) return succeeded[0]?.hash;
      return onlyOf(succeeded.filter(isUser))?.hash;
    }
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
    // They are batched: few HTTP requests, whatever their number.
    budget.spend(Math.ceil(hashes.length / 10));
    const receipts = await Promise.all(hashes.map((hash) => view.receipt(hash)));
    const read = receipts.filter((one) => one !== undefined);
    if (read.length < hashes.length) throw new ChainUnavailableError(view.chainId, 'receipt');
    return read;
  }
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
