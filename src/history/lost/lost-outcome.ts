import type { Address, Hex } from 'viem';
import type { AuthorizationUse } from '../../platform/chain/authorization-use.js';
import type { BlockHeader } from '../../platform/chain/block.js';
import { isPresent } from '../../platform/chain/endpoint-health.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import type { Reason } from '../../protocol/reasons.js';
import type { AuthorizationRef } from '../../protocol/schemes/authorization-method.js';
import { actionOf, allMethods, isMethodName } from '../../protocol/schemes/registry.js';
import type { Action } from '../../protocol/schemes/scheme.js';
import { hexOf } from '../postgres/bytea.js';
import type { ChainEvidence } from '../reconciliation/chain-evidence.js';
import type { SeenTransaction } from '../reconciliation/records.js';
import type { SettlementRow } from '../settlement-row.js';

/** How the chain shows that a settlement ended. */
export interface LostEnding {
  readonly state: 'finalized' | 'foreign' | 'reverted' | 'expired';
  readonly isPaid: boolean;
  readonly reason: Reason | undefined;
  /** The deciding transaction; `undefined` without one. */
  readonly place: LostPlace | undefined;
}

/** A transaction in a final block. */
export interface LostPlace {
  readonly transaction: Hex;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  /** Unix seconds. */
  readonly blockTime: number;
  readonly logIndex: number | undefined;
}

/**
 * Why the outcome is not known yet.
 *
 * - `unexpired`: the authorization can still be used after the newest final block.
 * - `unread`: two endpoints disagree, or do not answer.
 * - `user_unknown`: an unknown transaction used the authorization.
 * - `lanes_unknown`: the accounts of this service are not known.
 */
type Unresolved = 'unexpired' | 'unread' | 'user_unknown' | 'lanes_unknown';

/**
 * The outcome of a search. `reorged`: the block of the settlement was replaced. `outdated`: the archive has changed
 * meanwhile, or the log belongs to another settlement.
 */
export type LostOutcome = LostEnding['state'] | Unresolved | 'reorged' | 'outdated';

export type LostResult =
  | { readonly kind: 'ended'; readonly ending: LostEnding }
  /** Before its deadline: where the payment is now that its block was replaced; `undefined` if in no final block. */
  | { readonly kind: 'reorged'; readonly place: LostPlace | undefined }
  | { readonly kind: 'unresolved'; readonly why: Unresolved };

interface LostOutcomesParts {
  readonly chain: Pick<EvmChain, 'uses' | 'views' | 'endpoints'>;
  readonly evidence: Pick<ChainEvidence, 'isUsed' | 'look' | 'header' | 'firstBlockSince'>;
  /** The newest block that cannot be replaced. */
  readonly final: BlockHeader;
  /** Accounts that are lanes of this deployment by any source. Lower case. */
  readonly ownSenders: () => Promise<ReadonlySet<Address>>;
}

/** Upper bound of the difference between the clocks of Redis and the chain. */
const CLOCKS_MS = 60_000;

/**
 * Resolves settlements that the ledger has lost. It acts only on final blocks and ends a settlement only after its
 * deadline, so no later block can change the result. Before the deadline it shows only where a payment is now whose
 * block was replaced. With two or more endpoints, two must agree. A failed search does not prove
 * absence.
 */
export class LostOutcomes {
  constructor(private readonly parts: LostOutcomesParts) {}

  /** @throws ArchiveError, RedisUnavailableError if the accounts of this service cannot be read. */
  async resolve(row: SettlementRow): Promise<LostResult> {
    try {
      return await this.#resolve(row);
    } catch (error) {
      if (error instanceof ChainUnavailableError) return unresolved('unread');
      throw error;
    }
  }

  async #resolve(row: SettlementRow): Promise<LostResult> {
    const { evidence, final } = this.parts;
    const payment = paymentOf(row);
    if (payment === undefined) return unresolved('unread');
    const { ref, deadline, action } = payment;
    // Strictly later, because some methods still accept the deadline itself.
    if (BigInt(final.timestamp) <= deadline) return this.#followBlock(row, payment);
    const isUsed = await evidence.isUsed(ref, final);
    if (isUsed === undefined) return unresolved('unread');
    if (!isUsed) return ended('expired', false, action.reasons.expired);
    // The payer may have used the nonce for something else, and the row does not say for what.
    if (action.paysInto !== undefined) return unresolved('user_unknown');
    const searched = await this.#searchUse(row, payment);
    if (searched === undefined) return unresolved('user_unknown');
    const { use } = searched;
    // The payer cancelled the authorization, so there will be no transfer.
    if (use === undefined) return ended('foreign', false, action.reasons.used);
    return this.#resolveUse(row, payment, use);
  }

  /** Looks again for the block of an included settlement, which no ledger follows any more. */
  async #followBlock(row: SettlementRow, payment: LostPayment): Promise<LostResult> {
    const { evidence, final } = this.parts;
    const hash = hexOf(row.transaction);
    if (row.state !== 'included' || hash === undefined || row.block_number === null) {
      return unresolved('unexpired');
    }
    const blockNumber = BigInt(row.block_number);
    const read = (await evidence.look([{ hash, blockNumber }])).get(hash);
    if (read?.kind === 'seen') {
      const { blockNumber: at, blockHash } = read.transaction;
      if (blockHash === hexOf(row.block_hash) || at > final.number) return unresolved('unexpired');
    } else if (read?.kind !== 'absent' || !read.isProven || blockNumber > final.number) {
      return unresolved('unread');
    }
    const isUsed = await evidence.isUsed(payment.ref, final);
    if (isUsed === undefined) return unresolved('unread');
    return isUsed ? this.#moved(row, payment) : { kind: 'reorged', place: undefined };
  }

  /** Where its own transactions have paid it. Any other use decides nothing before the deadline. */
  async #moved(row: SettlementRow, payment: LostPayment): Promise<LostResult> {
    // The row does not name the channel, so the log of a deposit cannot be recognized.
    if (payment.action.paysInto !== undefined) return unresolved('user_unknown');
    const use = (await this.#searchUse(row, payment))?.use;
    if (use?.logIndex === undefined || !hashesOf(row).includes(use.transaction)) {
      return unresolved('user_unknown');
    }
    const seen = await this.#seen(use.transaction, use.blockNumber);
    const place = seen && (await this.#placeOf(seen, use.logIndex));
    return place === undefined ? unresolved('unread') : { kind: 'reorged', place };
  }

  async #resolveUse(
    row: SettlementRow,
    { action }: LostPayment,
    { transaction, blockNumber, logIndex }: AuthorizationUse,
  ): Promise<LostResult> {
    const { ownSenders } = this.parts;
    const seen = await this.#seen(transaction, blockNumber);
    if (seen === undefined) return unresolved('unread');
    const place = await this.#placeOf(seen, logIndex);
    if (place === undefined) return unresolved('unread');
    const own = hashesOf(row).includes(transaction) ? undefined : await ownSenders();
    // Without known lanes, an own payment would count as a foreign one.
    if (own?.size === 0) return unresolved('lanes_unknown');
    if (own?.has(seen.from) !== false) {
      return logIndex === undefined
        ? ended('reverted', false, action.reasons.noEvidence, place)
        : ended('finalized', true, undefined, place);
    }
    const isDone =
      action.isDoneByAnybody === true || (logIndex !== undefined && isCopied(row, place.blockTime));
    return isDone
      ? ended('foreign', true, undefined, place)
      : ended('foreign', false, action.reasons.used, { ...place, logIndex: undefined });
  }

  /** @returns `undefined` if its block is not final, or was replaced meanwhile. */
  async #placeOf(
    { hash: transaction, blockNumber, blockHash }: SeenTransaction,
    logIndex: number | undefined,
  ): Promise<LostPlace | undefined> {
    const { evidence, final } = this.parts;
    if (blockNumber > final.number) return undefined;
    const { hash, timestamp: blockTime } = await evidence.header(blockNumber);
    if (hash !== blockHash) return undefined;
    return { transaction, blockNumber, blockHash, blockTime, logIndex };
  }

  /**
   * Finds the transaction that used the authorization: first in the blocks of its own transactions, then between
   * claim and deadline.
   *
   * @returns `undefined` if it is not found.
   */
  async #searchUse(
    row: SettlementRow,
    { ref, deadline }: LostPayment,
  ): Promise<{ readonly use: AuthorizationUse | undefined } | undefined> {
    const { chain, evidence, final } = this.parts;
    for (const hash of hashesOf(row)) {
      const at = (await this.#seen(hash, undefined))?.blockNumber;
      if (at === undefined || at > final.number) continue;
      const outcome = await chain.uses.find(ref, { from: at, to: at }, 'lane');
      if (outcome.kind === 'found') return outcome;
    }
    const first = await evidence.firstBlockSince(row.claimed_at.getTime() - CLOCKS_MS, final);
    const end = await evidence.firstBlockSince((Number(deadline) + 1) * 1000, final);
    const from = first > 1n ? first - 1n : 1n;
    const to = end > final.number ? final.number : end;
    const outcome = await chain.uses.find(ref, { from, to }, 'lane');
    if (outcome.kind === 'found') return outcome;
    const isWhole = outcome.readFrom !== undefined && outcome.readFrom <= from;
    return isWhole && this.#areTwoPresent() ? { use: undefined } : undefined;
  }

  /** A search may rely on one endpoint while the other is away. This result is permanent, so it needs two. */
  #areTwoPresent(): boolean {
    const { chain } = this.parts;
    const present = chain.views().filter(({ health }) => isPresent(health)).length;
    return present >= Math.min(2, chain.endpoints.length);
  }

  async #seen(hash: Hex, blockNumber: bigint | undefined): Promise<SeenTransaction | undefined> {
    const read = (await this.parts.evidence.look([{ hash, blockNumber }])).get(hash);
    return read?.kind === 'seen' ? read.transaction : undefined;
  }
}

interface LostPayment {
  readonly ref: AuthorizationRef;
  /** Unix seconds. */
  readonly deadline: bigint;
  readonly action: Action;
}

/** @returns `undefined` for a settlement that the ledger restored without its payment. */
function paymentOf(row: SettlementRow): LostPayment | undefined {
  const { scheme, method, deadline, authorization_nonce: nonce } = row;
  const [asset, payer, payTo] = [hexOf(row.asset), hexOf(row.payer), hexOf(row.pay_to)];
  const amount = row.settled_amount ?? row.amount;
  if (method === null || !isMethodName(method) || deadline === null || nonce === null) {
    return undefined;
  }
  // The archive does not hold enough to resolve an action without an authorization of a payer.
  if (!allMethods().some(({ name }) => name === method)) return undefined;
  if (asset === undefined || payer === undefined || payTo === undefined || amount === null) {
    return undefined;
  }
  const action = actionOf({ method, ...(scheme !== null && { scheme }) });
  const ref = { method, asset, payer, nonce: BigInt(nonce), payTo, amount: BigInt(amount) };
  return { ref, deadline: BigInt(deadline), action };
}

/** Every transaction that carried the settlement, the newest first. */
function hashesOf({ transaction, transactions }: SettlementRow): readonly Hex[] {
  const all = [...(transactions ?? []), ...(transaction === null ? [] : [transaction])];
  return [...new Set(all.map((hash) => hexOf(hash)).reverse())];
}

/**
 * A foreign transaction can copy only a payment that was broadcast before. Without a broadcast, the payment was
 * presented elsewhere.
 */
function isCopied({ allocated_at: sent, transactions }: SettlementRow, blockTime: number): boolean {
  return sent !== null && (transactions ?? []).length > 0 && blockTime * 1000 > sent.getTime();
}

function ended(
  state: LostEnding['state'],
  isPaid: boolean,
  reason: Reason | undefined,
  place?: LostEnding['place'],
): LostResult {
  return { kind: 'ended', ending: { state, isPaid, reason, place } };
}

function unresolved(why: Unresolved): LostResult {
  return { kind: 'unresolved', why };
}
