import type { Address, Hex } from 'viem';

/** One signed transaction for an account nonce. Fees in wei. */
export interface SignedTransaction {
  readonly hash: Hex;
  readonly raw: Hex;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
  readonly gas: bigint;
  /** Milliseconds since the epoch. */
  readonly signedAt: number;
  /** A no-op uses the account nonce up and settles nothing. */
  readonly isNoop: boolean;
}

/**
 * Everything that was ever signed for one account nonce of a lane. At most one of its transactions is
 * mined; until a transaction with this nonce is finalized each of them may land. All of them settle the
 * same, but for no-ops.
 *
 * - `single`: one settlement, called directly.
 * - `batch`: several, through Multicall3.
 * - `noop`: none; it only uses the nonce up.
 * - `fund`: none; it sends a payer native coins for a transaction of its own.
 * - `refill`: none; it sends native coins from the treasury to a lane.
 */
export interface Attempt {
  readonly accountNonce: number;
  /** The kind of its first transaction; a later one may be a no-op that replaces it. */
  readonly kind: 'single' | 'batch' | 'noop' | 'fund' | 'refill';
  /** Settlements of this attempt, in the order in which a batch calls them. */
  readonly settlementIds: readonly string[];
  /** Oldest first; never empty. */
  readonly transactions: readonly SignedTransaction[];
  /** Number of the newest block that two endpoints had when its nonce was allocated; of one where there is one. */
  readonly allocatedAtBlock: bigint;
  /**
   * The newest block that any endpoint had shown then, where it is a newer one. Its hash shows later whether the chain
   * has it; the hash of a future block cannot be guessed.
   */
  readonly newestBlock?: { readonly number: bigint; readonly hash: Hex };
  /** Set for the kind `fund` only. */
  readonly funding?: Funding;
  /** Set for the kind `refill` only. */
  readonly refill?: Transfer;
}

/** Native coins for an account. */
export interface Transfer {
  readonly to: Address;
  readonly valueWei: bigint;
}

/** Native coins for a transaction that a payer has signed and cannot pay for. */
export interface Funding {
  readonly payer: Address;
  /** The nonce of the payer's own transaction. Each nonce is funded once, ever. */
  readonly payerNonce: number;
  readonly valueWei: bigint;
  /** The settlement that needs it. */
  readonly settlementId: string;
}

/** The last transaction that a payer was sent native coins for. */
export interface KnownFunding {
  readonly payerNonce: number;
  /** The account nonce of the lane that sent them is used for good. */
  readonly isDone: boolean;
}

export function newestTransactionOf(attempt: Attempt): SignedTransaction {
  const newest = attempt.transactions.at(-1);
  if (newest === undefined) throw new TypeError('an attempt has no transaction');
  return newest;
}

/** The native coins that an attempt is to send; `undefined` for one that calls a contract. */
export function transferOf({ funding, refill }: Attempt): Transfer | undefined {
  return funding === undefined ? refill : { to: funding.payer, valueWei: funding.valueWei };
}

/** Wei that this account nonce can cost at most: one of its transactions is mined. */
export function mostCostOf(attempt: Attempt): bigint {
  const valueWei = transferOf(attempt)?.valueWei ?? 0n;
  return attempt.transactions.reduce((most, { gas, maxFeePerGas, isNoop }) => {
    const cost = gas * maxFeePerGas + (isNoop ? 0n : valueWei);
    return cost > most ? cost : most;
  }, 0n);
}

/** Wei that a payer or a lane was sent by the transaction of an attempt that was mined. */
export function valueSentBy(
  attempt: Attempt,
  mined: { readonly transaction: Hex; readonly isSuccess: boolean },
): bigint {
  const transfer = transferOf(attempt);
  if (transfer === undefined || !mined.isSuccess) return 0n;
  const isOurs = attempt.transactions.some(
    ({ hash, isNoop }) => hash === mined.transaction && !isNoop,
  );
  return isOurs ? transfer.valueWei : 0n;
}

const FORMAT = 2;

export function encodeAttempt(attempt: Attempt): string {
  return JSON.stringify({ v: FORMAT, ...attempt }, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}

interface EncodedTransaction {
  readonly hash: Hex;
  readonly raw: Hex;
  readonly maxFeePerGas: string;
  readonly maxPriorityFeePerGas: string;
  readonly gas: string;
  readonly signedAt: number;
  readonly isNoop: boolean;
}

type EncodedAttempt = Omit<
  Attempt,
  'transactions' | 'allocatedAtBlock' | 'newestBlock' | 'funding' | 'refill'
> & {
  readonly transactions: readonly EncodedTransaction[];
  readonly allocatedAtBlock: string;
  readonly newestBlock?: { readonly number: string; readonly hash: Hex };
  readonly funding?: Omit<Funding, 'valueWei'> & { readonly valueWei: string };
  readonly refill?: Omit<Transfer, 'valueWei'> & { readonly valueWei: string };
};

/** Reads what {@link encodeAttempt} wrote. */
export function decodeAttempt(text: string): Attempt {
  const { accountNonce, kind, settlementIds, transactions, allocatedAtBlock, ...more } = JSON.parse(
    text,
  ) as EncodedAttempt;
  const { newestBlock, funding, refill } = more;
  return {
    accountNonce,
    kind,
    settlementIds,
    allocatedAtBlock: BigInt(allocatedAtBlock),
    ...(newestBlock && {
      newestBlock: { number: BigInt(newestBlock.number), hash: newestBlock.hash },
    }),
    ...(funding && { funding: { ...funding, valueWei: BigInt(funding.valueWei) } }),
    ...(refill && { refill: { ...refill, valueWei: BigInt(refill.valueWei) } }),
    transactions: transactions.map((transaction) => ({
      ...transaction,
      maxFeePerGas: BigInt(transaction.maxFeePerGas),
      maxPriorityFeePerGas: BigInt(transaction.maxPriorityFeePerGas),
      gas: BigInt(transaction.gas),
    })),
  };
}
