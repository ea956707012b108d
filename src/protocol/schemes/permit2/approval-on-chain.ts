import type { Address, Hex } from 'viem';
import type {
  ApprovalChain,
  ApprovalLimits,
  ConfirmPayer,
  EffectAfter,
  FirstCall,
  PayerAccount,
} from '../../evm/approval-chain.js';
import { decodeBoolean, decodeUint, isBelow } from '../../evm/call-results.js';
import { balanceOfCall, isBitSet, nonceBitmapCall } from '../../evm/calls.js';
import type { Settlement } from '../../evm/chain-reader.js';
import { mostCostOfTransaction, type SentTransaction } from '../../evm/payer-transaction.js';
import type { Reason } from '../../reasons.js';

/** A payment with an approval of its payer, and both calls. */
interface ApprovalCase {
  readonly transaction: SentTransaction;
  readonly payer: Address;
  /** Nonce of the Permit2 authorization. */
  readonly nonce: bigint;
  readonly settlement: Settlement;
}

/** If the base fee is most of the price, nodes suggest a larger tip than they require. */
const TIP_DIVISOR = 5n;
/** The base fee rises by at most an eighth per block (EIP-1559). */
const BASE_FEE_STEPS = 8n;

/**
 * Why the approval would not be mined, or the payment would fail after it; `undefined` if both would succeed.
 *
 * @throws ChainUnavailableError
 */
export async function refusalOnChain(
  chain: ApprovalChain,
  approval: ApprovalCase,
  limits: ApprovalLimits,
  confirm: ConfirmPayer,
): Promise<Reason | undefined> {
  const { transaction, payer } = approval;
  const refusalBy = (account: PayerAccount): Reason | undefined =>
    refusalByAccount(account, transaction, limits);
  // No second read is needed if one endpoint finds no problem.
  if (refusalBy(await readAccount(chain, payer, transaction.hash)) !== undefined) {
    const reason = refusalBy(await confirm(payer, transaction.hash));
    if (reason !== undefined) return reason;
  }
  return refusalByEffect(chain, approval);
}

async function readAccount(chain: ApprovalChain, payer: Address, hash: Hex): Promise<PayerAccount> {
  const [used, pending, balanceWei, { baseFeePerGas }, gasPriceWei] = await Promise.all([
    chain.transactionCount(payer, 'latest'),
    chain.transactionCount(payer, 'pending'),
    chain.balance(payer),
    chain.latestBlock(),
    chain.gasPrice(),
  ]);
  const isKnown = pending > used && (await chain.transaction(hash)) !== undefined;
  return { used, pending, isKnown, balanceWei, baseFeePerGas, gasPriceWei };
}

/** A refusal because of the account of the payer, or the price of gas. */
function refusalByAccount(
  { used, pending, isKnown, balanceWei, baseFeePerGas = 0n, gasPriceWei }: PayerAccount,
  transaction: SentTransaction,
  { topUpWei, leastTipWei }: ApprovalLimits,
): Reason | undefined {
  const { accountNonce } = transaction;
  if (used !== accountNonce) return 'erc20_approval_tx_nonce_mismatch';
  // The pending transaction at this nonce is the approval itself, or its replacement.
  if (pending > used && !isKnown) return 'erc20_approval_tx_nonce_mismatch';
  if (!isTakenByNodes(transaction, baseFeePerGas, gasPriceWei, leastTipWei)) {
    return 'erc20_approval_tx_underpriced';
  }
  return mostCostOfTransaction(transaction) - balanceWei > topUpWei
    ? 'erc20_approval_tx_too_expensive'
    : undefined;
}

/**
 * Whether the next block can include the transaction, at the minimum fees of the nodes of this chain. A transaction
 * that no node accepts would hold a place and the coins of its payer for nothing.
 *
 * @param leastTipWei - the minimum tip of the chain, if it is known.
 */
function isTakenByNodes(
  { maxFeePerGas, maxPriorityFeePerGas }: SentTransaction,
  baseFeePerGas: bigint,
  gasPriceWei: bigint,
  leastTipWei: bigint | undefined,
): boolean {
  const suggested = gasPriceWei > baseFeePerGas ? gasPriceWei - baseFeePerGas : 0n;
  // Without a base fee the tip is the whole price, and only the suggested price is known to be accepted.
  const usual = baseFeePerGas === 0n ? suggested : suggested / TIP_DIVISOR;
  const known = leastTipWei ?? usual;
  const least = known < suggested ? known : suggested;
  const nextBaseFee = baseFeePerGas + baseFeePerGas / BASE_FEE_STEPS;
  return maxPriorityFeePerGas >= least && maxFeePerGas >= nextBaseFee + least;
}

async function refusalByEffect(
  chain: ApprovalChain,
  approval: ApprovalCase,
): Promise<Reason | undefined> {
  const { transaction, payer, settlement } = approval;
  const call = { to: settlement.token, data: transaction.data };
  const first = { call, from: payer, gas: transaction.gas };
  const effect = await chain.simulateAfter(first, settlement);
  if (effect === undefined) return refusalByParts(chain, first, approval);
  return effect.status === 'paid' ? undefined : reasonOf(chain, effect, settlement);
}

async function reasonOf(
  chain: ApprovalChain,
  effect: Exclude<EffectAfter, { status: 'paid' }>,
  settlement: Settlement,
): Promise<Reason> {
  if (effect.status === 'first_failed') return 'erc20_approval_tx_failed';
  if (await isTooPoor(chain, settlement)) return 'permit2_insufficient_balance';
  return effect.status === 'halted' ? 'gas_limit_exceeded' : 'permit2_simulation_failed';
}

/**
 * For a node that cannot simulate two transactions in sequence: each part is simulated alone. A token that only fails
 * after the approval is detected later, by the simulation before the payment is sent.
 */
async function refusalByParts(
  chain: ApprovalChain,
  { call, from, gas }: FirstCall,
  { nonce, settlement }: ApprovalCase,
): Promise<Reason | undefined> {
  const sender = { address: from, gasPriceWei: 0n, balanceWei: 0n };
  const [approved, bitmap, isPoor] = await Promise.all([
    chain.callFrom(sender, call, gas),
    chain.call(nonceBitmapCall(from, nonce)),
    isTooPoor(chain, settlement),
  ]);
  if (approved.status !== 'returned' || decodeBoolean(approved) === false) {
    return 'erc20_approval_tx_failed';
  }
  if (isPoor) return 'permit2_insufficient_balance';
  const word = decodeUint(bitmap);
  const isFree = word !== undefined && !isBitSet(word, nonce);
  return isFree ? undefined : 'permit2_simulation_failed';
}

async function isTooPoor(
  chain: ApprovalChain,
  { token, payer, amount }: Settlement,
): Promise<boolean> {
  return isBelow(decodeUint(await chain.call(balanceOfCall(token, payer))), amount);
}
