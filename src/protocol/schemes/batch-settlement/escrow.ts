import type { Address, Hex } from 'viem';
import {
  addressWord,
  bytes32Word,
  bytesWords,
  firstWordOf,
  keccakOfHex,
  keccakOfText,
  uintWord,
} from '../../evm/abi-words.js';
import { type AggregatedResult, readAggregated } from '../../evm/call-results.js';
import { aggregateCall, type Call, selectorOf } from '../../evm/calls.js';
import type { CallOutcome, ChainReader } from '../../evm/chain-reader.js';
import { CHANNEL_ESCROW } from '../../evm/contracts.js';
import { DEPOSITED_TOPIC, type ReceiptLog } from '../../evm/logs.js';
import type { ChannelEvent } from '../scheme.js';
import { type ChannelConfig, type ChannelState, configWords } from './channel.js';

/** Calls of the escrow contract of `batch-settlement`, at the same address on every chain. */

const CHANNELS = selectorOf('channels(bytes32)');
const PENDING_WITHDRAWALS = selectorOf('pendingWithdrawals(bytes32)');
const REFUND_NONCE = selectorOf('refundNonce(bytes32)');
export const DEPOSIT = selectorOf(
  'deposit((address,address,address,address,address,uint40,bytes32),uint128,address,bytes)',
);

/** `receiver`, `token`, `sender` (all indexed), `amount` */
export const SETTLED_TOPIC = keccakOfText('Settled(address,address,address,uint128)');
/** `channelId`, `sender` (both indexed), `amount` */
export const REFUNDED_TOPIC = keccakOfText('Refunded(bytes32,address,uint128)');

/**
 * Reads a channel in one call, which runs no code but that of the escrow.
 *
 * @returns `undefined` where the escrow does not answer as it should.
 * @throws ChainUnavailableError
 */
export async function readChannel(
  chain: Pick<ChainReader, 'call'>,
  channelId: Hex,
): Promise<ChannelState | undefined> {
  const calls = [CHANNELS, PENDING_WITHDRAWALS, REFUND_NONCE].map((selector) =>
    callOfChannel(selector, channelId),
  );
  const outcome = await chain.call(aggregateCall(calls));
  const results = outcome.status === 'returned' ? readAggregated(outcome.data) : undefined;
  const [channel, withdrawal, nonce] = (results ?? []).map(wordsOf);
  const [balance, totalClaimed] = channel ?? [];
  const [, requestedAt] = withdrawal ?? [];
  const [refundNonce] = nonce ?? [];
  if (balance === undefined || totalClaimed === undefined) return undefined;
  if (requestedAt === undefined || refundNonce === undefined) return undefined;
  return { balance, totalClaimed, withdrawRequestedAt: Number(requestedAt), refundNonce };
}

/** The numbers that a call returned; none where it failed. */
function wordsOf({ success, returnData }: AggregatedResult): readonly bigint[] {
  const words = success ? (returnData.slice(2).match(/.{64}/g) ?? []) : [];
  return words.map((word) => BigInt(`0x${word}`));
}

/** The nonce of the next refund of a channel. */
export function refundNonceCall(channelId: Hex): Call {
  return callOfChannel(REFUND_NONCE, channelId);
}

/** The amount in the first log of the escrow with these topics; atomic units. */
export function amountInLog(
  logs: readonly ReceiptLog[],
  wanted: readonly Hex[],
): bigint | undefined {
  return logs
    .filter(
      ({ address, topics }) =>
        address === CHANNEL_ESCROW && wanted.every((topic, place) => topics[place] === topic),
    )
    .map(({ data }) => firstWordOf(data))
    .find((amount) => amount !== undefined);
}

/** `channelId`, `sender` (both indexed), `amount`, `newTotalClaimed` */
const CLAIMED_TOPIC = keccakOfText('Claimed(bytes32,address,uint128,uint128)');

const CHANNEL_EVENTS = new Map<Hex | undefined, ChannelEvent['event']>([
  [DEPOSITED_TOPIC, 'Deposited'],
  [CLAIMED_TOPIC, 'Claimed'],
  [SETTLED_TOPIC, 'Settled'],
  [REFUNDED_TOPIC, 'Refunded'],
]);

export function channelEventsIn(logs: readonly ReceiptLog[]): readonly ChannelEvent[] {
  return logs.flatMap(({ address, topics: [topic, first], data, logIndex }) => {
    const event = CHANNEL_EVENTS.get(topic);
    if (address !== CHANNEL_ESCROW || event === undefined) return [];
    const amount = firstWordOf(data);
    if (amount === undefined) return [];
    const channelId = event === 'Settled' ? undefined : first;
    return [{ event, amount, logIndex, ...(channelId !== undefined && { channelId }) }];
  });
}

/** What a channel holds, and what its payer has asked to have back. */
export interface ChannelFunds extends Pick<ChannelState, 'balance' | 'totalClaimed'> {
  readonly withdrawal: {
    /** Atomic units. */
    readonly amount: bigint;
    /** Unix seconds; 0 without a withdrawal. */
    readonly requestedAt: bigint;
  };
}

/**
 * Reads many channels in one call.
 *
 * @returns `undefined` where the escrow does not answer as it should.
 * @throws ChainUnavailableError
 */
export async function readFunds(
  chain: Pick<ChainReader, 'call'>,
  channelIds: readonly Hex[],
): Promise<readonly ChannelFunds[] | undefined> {
  const calls = [CHANNELS, PENDING_WITHDRAWALS].flatMap((selector) =>
    channelIds.map((id) => callOfChannel(selector, id)),
  );
  const outcome = await chain.call(aggregateCall(calls), claimedGas(calls.length));
  const results = outcome.status === 'returned' ? readAggregated(outcome.data) : undefined;
  const words = (results ?? []).map(wordsOf);
  const funds = channelIds.flatMap((_, index): ChannelFunds[] => {
    const [balance, totalClaimed] = words[index] ?? [];
    const [amount, requestedAt] = words[channelIds.length + index] ?? [];
    if (balance === undefined || totalClaimed === undefined) return [];
    if (amount === undefined || requestedAt === undefined) return [];
    return [{ balance, totalClaimed, withdrawal: { amount, requestedAt } }];
  });
  return funds.length === channelIds.length ? funds : undefined;
}

function callOfChannel(selector: string, channelId: Hex): Call {
  return { to: CHANNEL_ESCROW, data: `0x${selector}${bytes32Word(channelId)}` };
}

/** Gas of reading one channel of many. */
const ROW_STATE_GAS = 12_000n;

/** Asks for what was claimed of channels so far, in one call; see {@link readClaimed}. */
export function claimedCall(channelIds: readonly Hex[]): Call {
  return aggregateCall(channelIds.map((id) => callOfChannel(CHANNELS, id)));
}

export function claimedGas(count: number): bigint {
  return 30_000n + ROW_STATE_GAS * BigInt(count);
}

/** Balance and total claimed of each channel; `undefined` where the escrow does not answer as it should. */
export function readClaimed(
  outcome: CallOutcome,
  count: number,
): readonly Pick<ChannelState, 'balance' | 'totalClaimed'>[] | undefined {
  const results = outcome.status === 'returned' ? readAggregated(outcome.data) : undefined;
  const states = (results ?? []).flatMap((result) => {
    const [balance, totalClaimed] = wordsOf(result);
    return balance === undefined || totalClaimed === undefined ? [] : [{ balance, totalClaimed }];
  });
  return states.length === count ? states : undefined;
}

/** The nonce of an EIP-3009 authorization that the deposit collector presents. */
export function depositNonceOf(channelId: Hex, salt: Hex): Hex {
  return keccakOfHex(bytes32Word(channelId) + bytes32Word(salt));
}

interface Erc3009Deposit {
  readonly validAfter: bigint;
  readonly validBefore: bigint;
  readonly salt: Hex;
  readonly signature: Hex;
}

/** `abi.encode(uint256 validAfter, uint256 validBefore, uint256 salt, bytes signature)` */
export function erc3009CollectorData(deposit: Erc3009Deposit): Hex {
  const { validAfter, validBefore, salt, signature } = deposit;
  const head = uintWord(validAfter) + uintWord(validBefore) + bytes32Word(salt) + uintWord(4 * 32);
  return `0x${head}${bytesWords(signature)}`;
}

/**
 * `abi.encode(uint256 nonce, uint256 deadline, bytes signature, bytes permit)`
 *
 * @param permit - an encoded EIP-2612 permit; empty without one.
 */
export function permit2CollectorData(
  { nonce, deadline, signature }: { nonce: bigint; deadline: bigint; signature: Hex },
  permit: Hex = '0x',
): Hex {
  const signed = bytesWords(signature);
  const head =
    uintWord(nonce) + uintWord(deadline) + uintWord(4 * 32) + uintWord(4 * 32 + signed.length / 2);
  return `0x${head}${signed}${bytesWords(permit)}`;
}

/** The call that puts money into a channel. Anybody may send it. */
export function depositCall(
  config: ChannelConfig,
  amount: bigint,
  collector: Address,
  collectorData: Hex,
): Call {
  const head = uintWord(amount) + addressWord(collector) + uintWord(10 * 32);
  const data = `${DEPOSIT}${configWords(config)}${head}${bytesWords(collectorData)}`;
  return { to: CHANNEL_ESCROW, data: `0x${data}` };
}
