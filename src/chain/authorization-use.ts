import type { Address, Hex } from 'viem';
import type { AcceptedPayment } from '../core/settlement/accepted-payment.js';
import { authorizationStateCall, isBitSet, nonceBitmapCall } from '../core/exact/calls.js';
import { decodeBoolean, decodeUint } from '../core/exact/diagnose.js';
import {
  AUTHORIZATION_CANCELED_TOPIC,
  AUTHORIZATION_USED_TOPIC,
  TRANSFER_TOPIC,
} from '../core/exact/evidence.js';
import { type PresentedAuthorization, presentedAuthorizations } from '../core/exact/presented.js';
import { addressWord, uintWord } from '../core/exact/words.js';
import { authorizationNonceOf } from '../core/exact/authorization.js';
import { ChainUnavailableError } from '../core/errors.js';
import { quantity, readQuantity } from './block.js';
import type { BlockPoint, ChainView } from './chain-view.js';
import type { EvmChain } from './evm-chain.js';
import { type FoundLog, readLogs } from './receipt.js';

/** An authorization as the chain knows it, and the payment it should make where that is known. */
export interface AuthorizationRef {
  readonly method: 'eip3009' | 'permit2';
  readonly asset: Address;
  readonly payer: Address;
  readonly nonce: bigint;
  readonly payTo?: Address;
  /** Atomic units. */
  readonly amount?: bigint;
}

export function refOf({ asset, payTo, amount, authorization }: AcceptedPayment): AuthorizationRef {
  return {
    method: authorization.method,
    asset,
    payer: authorization.from,
    nonce: authorizationNonceOf(authorization),
    payTo,
    amount,
  };
}

/**
 * Whether the chain has executed or cancelled the authorization.
 *
 * @returns `undefined` when the token does not answer the question.
 * @throws ChainUnavailableError
 */
export async function isAuthorizationUsed(
  view: ChainView,
  { method, asset, payer, nonce }: AuthorizationRef,
  at: BlockPoint = 'latest',
): Promise<boolean | undefined> {
  if (method === 'eip3009') {
    const call = authorizationStateCall(asset, payer, `0x${uintWord(nonce)}`);
    return decodeBoolean(await view.call(call, undefined, at));
  }
  const bitmap = decodeUint(await view.call(nonceBitmapCall(payer, nonce), undefined, at));
  return bitmap === undefined ? undefined : isBitSet(bitmap, nonce);
}

/** A transaction that used an authorization. */
export interface AuthorizationUse {
  readonly transaction: Hex;
  readonly blockNumber: bigint;
  /** The `Transfer` it made for exactly this payment, where the calldata shows that it did. */
  readonly transferLog: FoundLog | undefined;
}

/** How often one step is asked of one endpoint. */
const TRIES = 3;
/** An endpoint that has kept us waiting this long is not asked again. */
const QUICK_MS = 300;

/**
 * A search takes several reads, each of which needs the one before: where an endpoint fails now and
 * then, a search that began anew each time would hardly ever come to its end.
 */
async function readStubbornly(
  view: ChainView,
  method: string,
  params: readonly unknown[],
): Promise<unknown> {
  for (let count = 1; ; count += 1) {
    const askedAt = performance.now();
    try {
      return await view.read(method, params);
    } catch (error) {
      const isQuick = performance.now() - askedAt < QUICK_MS;
      if (!isQuick || count === TRIES) throw error;
    }
  }
}

/** Providers bound the range of one look-up; most allow at least this many blocks. */
const RANGE_BLOCKS = 5000n;

/**
 * Looks for the transaction that used an authorization, newest blocks first. For EIP-3009 its event
 * names the authorization; Permit2 leaves none, so the transfers of the payer are looked through.
 *
 * @param blocks - how far to look back from `until`.
 * @returns `undefined` when it is not there, or no endpoint has logs.
 * @throws ChainUnavailableError when an endpoint has logs and none could be searched.
 */
export async function searchAuthorizationUse(
  chain: EvmChain,
  ref: AuthorizationRef,
  until: bigint,
  blocks: bigint,
): Promise<AuthorizationUse | undefined> {
  let unavailable: ChainUnavailableError | undefined;
  for (const view of chain.views().filter(({ health }) => health.hasLogs !== false)) {
    try {
      return await searchThrough(view, chain, ref, until, blocks);
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      unavailable = error;
    }
  }
  if (unavailable !== undefined) throw unavailable;
  return undefined;
}

/** The same where its absence proves nothing: a search that no endpoint allows has found nothing. */
export async function findAuthorizationUse(
  ...search: Parameters<typeof searchAuthorizationUse>
): Promise<AuthorizationUse | undefined> {
  try {
    return await searchAuthorizationUse(...search);
  } catch (error) {
    if (!(error instanceof ChainUnavailableError)) throw error;
    return undefined;
  }
}

async function searchThrough(
  view: ChainView,
  chain: EvmChain,
  ref: AuthorizationRef,
  until: bigint,
  blocks: bigint,
): Promise<AuthorizationUse | undefined> {
  const earliest = until > blocks ? until - blocks : 0n;
  for (let to = until; to >= earliest; to -= RANGE_BLOCKS) {
    const from = to - RANGE_BLOCKS + 1n > earliest ? to - RANGE_BLOCKS + 1n : earliest;
    const logs = await readLogsBetween(view, ref, from, to);
    for (const log of logs.reverse()) {
      const use = await useOf(view, chain, ref, log);
      if (use !== undefined) return use;
    }
    if (from === 0n) break;
  }
  // What is not found is not there only where the node has these blocks.
  if ((await readBlockNumber(view)) < until)
    throw new ChainUnavailableError(view.chainId, 'eth_getLogs');
  return undefined;
}

async function readLogsBetween(
  view: ChainView,
  { method, asset, payer, nonce, payTo }: AuthorizationRef,
  from: bigint,
  to: bigint,
): Promise<FoundLog[]> {
  const payerTopic = `0x${addressWord(payer)}`;
  const topics =
    method === 'eip3009'
      ? [
          [AUTHORIZATION_USED_TOPIC, AUTHORIZATION_CANCELED_TOPIC],
          payerTopic,
          `0x${uintWord(nonce)}`,
        ]
      : [TRANSFER_TOPIC, payerTopic, payTo === undefined ? null : `0x${addressWord(payTo)}`];
  const filter = { address: asset, topics, fromBlock: quantity(from), toBlock: quantity(to) };
  return [...readLogs(await readStubbornly(view, 'eth_getLogs', [filter]))];
}

async function useOf(
  view: ChainView,
  chain: EvmChain,
  ref: AuthorizationRef,
  log: FoundLog,
): Promise<AuthorizationUse | undefined> {
  const { transactionHash: transaction, blockNumber } = log;
  const isEip3009 = ref.method === 'eip3009';
  const presented = await presentedBy(view, chain, transaction);
  if (!presented.some((one) => isSamePayment(one, ref))) {
    // The event names this authorization all the same; a transfer alone names nothing.
    return isEip3009 ? { transaction, blockNumber, transferLog: undefined } : undefined;
  }
  const transferLog = isEip3009 ? await transferIn(view, ref, log) : log;
  return { transaction, blockNumber, transferLog };
}

async function presentedBy(
  view: ChainView,
  chain: EvmChain,
  hash: Hex,
): Promise<readonly PresentedAuthorization[]> {
  const transaction = await readStubbornly(view, 'eth_getTransactionByHash', [hash]);
  if (typeof transaction !== 'object' || transaction === null) return [];
  const { to, input } = transaction as { to?: Address | null; input?: Hex };
  return presentedAuthorizations(to ?? null, input ?? '0x', chain.permit2Proxy);
}

function isSamePayment(one: PresentedAuthorization, ref: AuthorizationRef): boolean {
  return (
    one.method === ref.method &&
    one.token === ref.asset &&
    one.from === ref.payer &&
    one.nonce === ref.nonce &&
    (ref.payTo === undefined || one.to === ref.payTo) &&
    (ref.amount === undefined || one.amount === ref.amount)
  );
}

/** The transfer that the transaction of an EIP-3009 event made for this payment. */
async function transferIn(
  view: ChainView,
  { asset, payer, payTo, amount }: AuthorizationRef,
  used: FoundLog,
): Promise<FoundLog | undefined> {
  if (payTo === undefined || amount === undefined) return undefined;
  const block = quantity(used.blockNumber);
  const topics = [TRANSFER_TOPIC, `0x${addressWord(payer)}`, `0x${addressWord(payTo)}`];
  const filter = { address: asset, topics, fromBlock: block, toBlock: block };
  return readLogs(await readStubbornly(view, 'eth_getLogs', [filter])).find(
    (log) => log.transactionHash === used.transactionHash && log.data === `0x${uintWord(amount)}`,
  );
}

/** The newest block number of an endpoint. */
export async function readBlockNumber(view: ChainView): Promise<bigint> {
  const number = readQuantity(await readStubbornly(view, 'eth_blockNumber', []));
  if (number === undefined) throw new ChainUnavailableError(view.chainId, 'eth_blockNumber');
  return number;
}
