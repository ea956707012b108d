import type { Address, Hex } from 'viem';
import { addressWord } from '../../evm/abi-words.js';
import type { Authorization } from '../../evm/authorization.js';
import { type Call, selectorOf } from '../../evm/calls.js';
import type { CallOutcome, ChainReader } from '../../evm/chain-reader.js';
import { CHANNEL_ESCROW } from '../../evm/contracts.js';
import type { Reason } from '../../reasons.js';
import type { StateEvidence } from '../scheme.js';
import { refuseByState, type Verdict, type VerifyContext, type VerifyScope } from '../verdict.js';
import type { BATCH_SETTLEMENT, PayoutClaim } from './claims.js';
import { amountInLog, SETTLED_TOPIC } from './escrow.js';
import { missingContract, UNREAD } from './verify-channel.js';

const SETTLE = selectorOf('settle(address,address)');
const RECEIVERS = selectorOf('receivers(address,address)');

/**
 * What a receiver is paid of one token: all that was claimed up to a total. `from` is the receiver. It needs no
 * signature, and anybody may send it.
 */
export interface Payout extends Authorization {
  readonly scheme: typeof BATCH_SETTLEMENT;
  readonly method: 'channel-settle';
  readonly token: Address;
  /** Atomic units since the beginning: it is done once so much was paid out. */
  readonly upTo: bigint;
}

/**
 * The total that a payout brings its receiver to.
 *
 * @returns a reason where it cannot be said.
 * @throws ChainUnavailableError
 */
export async function toBePaid(
  { from, token }: PayoutClaim,
  chain: ChainReader,
): Promise<bigint | Reason> {
  const missing = await missingContract(chain, [CHANNEL_ESCROW]);
  if (missing !== undefined) return missing.reason;
  const totals = totalsIn(await chain.call(receiversCall(from, token)));
  return totals?.claimed ?? UNREAD.reason;
}

/**
 * Judges a request for a payout. Its terms need no signature, so they hold for every request that names its total.
 *
 * @throws ChainUnavailableError
 */
export async function verifyPayout(
  { scheme, method, from, token, upTo = 0n }: PayoutClaim,
  { chain }: VerifyContext,
  scope: VerifyScope,
): Promise<Verdict> {
  const authorization: Payout = { scheme, method, from, signature: '0x', token, upTo };
  const good = { isValid: true, authorization, payerHasCode: false } as const;
  if (scope === 'terms') return good;
  const missing = await missingContract(chain, [CHANNEL_ESCROW, token]);
  if (missing !== undefined) return missing;
  const totals = totalsIn(await chain.call(receiversCall(from, token)));
  if (totals === undefined) return UNREAD;
  if (upTo <= totals.settled) {
    const refusal = refuseByState('invalid_batch_settlement_evm_nothing_to_settle');
    // Where nothing was ever claimed, nothing was paid.
    return { ...refusal, isDone: upTo > 0n };
  }
  return { ...good, brings: new Map([[token, [upTo - totals.settled]]]) };
}

export function payoutCallOf({ from, token }: Pick<Payout, 'from' | 'token'>): Call {
  return { to: CHANNEL_ESCROW, data: `0x${SETTLE}${addressWord(from)}${addressWord(token)}` };
}

/**
 * A payout with nothing due succeeds without an event: the settled total shows that it is done. One with its event has
 * paid all that was claimed, also where that was less than what was judged.
 */
export const PAYOUT_EVIDENCE: StateEvidence<Payout> = {
  by: 'state',
  callOf: ({ from, token }) => receiversCall(from, token),
  isDone: (outcome, { upTo }) => {
    const totals = totalsIn(outcome);
    return totals && totals.settled >= upTo;
  },
  isShownIn: (logs, { from, token }) => amountInLog(logs, settledTopics(from, token)) !== undefined,
};

export function settledTopics(receiver: Address, token: Address): readonly [Hex, Hex, Hex] {
  return [SETTLED_TOPIC, `0x${addressWord(receiver)}`, `0x${addressWord(token)}`];
}

function receiversCall(receiver: Address, token: Address): Call {
  return {
    to: CHANNEL_ESCROW,
    data: `0x${RECEIVERS}${addressWord(receiver)}${addressWord(token)}`,
  };
}

function totalsIn(
  outcome: CallOutcome,
): { readonly claimed: bigint; readonly settled: bigint } | undefined {
  const words = outcome.status === 'returned' ? outcome.data.slice(2) : '';
  if (words.length !== 128) return undefined;
  return { claimed: BigInt(`0x${words.slice(0, 64)}`), settled: BigInt(`0x${words.slice(64)}`) };
}
