import { type Address, type Hex, isHex } from 'viem';
import { firstWordOf } from '../../protocol/evm/abi-words.js';
import type { EffectAfter, FirstCall } from '../../protocol/evm/approval-chain.js';
import { readAggregated } from '../../protocol/evm/call-results.js';
import { aggregateCall, balanceOfCall, type Call } from '../../protocol/evm/calls.js';
import {
  type Effect,
  READ_GAS,
  type Sender,
  type Settlement,
} from '../../protocol/evm/chain-reader.js';
import { quantity, readQuantity } from './block.js';
import { boundedHex, revertDataOf } from './rpc/rpc-classes.js';

/** Margin for the calls besides the transfer. */
const BALANCE_FACTOR = 10n;

/**
 * The argument of `eth_simulateV1`: balance, settlement, balance, in one state.
 *
 * @param first - runs before all of them.
 */
export function simulationOf(
  { call, sender, gas, token, payTo }: Settlement,
  first?: FirstCall,
): object {
  const { to, data } = call;
  const balance = { ...balanceOfCall(token, payTo), gas: quantity(READ_GAS) };
  const transfer = { ...senderFields(sender), to, data, gas: quantity(gas) };
  const stateOverrides = sender && balanceOverride(sender, gas);
  const before =
    first === undefined ? [] : [{ from: first.from, ...first.call, gas: quantity(first.gas) }];
  const calls = [...before, balance, transfer, balance];
  return {
    blockStateCalls: [{ calls, ...(stateOverrides !== undefined && { stateOverrides }) }],
  };
}

interface SimulationResult {
  readonly effect: Effect;
  /** Whether any call used up its gas, or returned very long data. */
  readonly hasBurned: boolean;
}

/** Reads a node's simulation; `undefined` for a value that is not a simulation of three calls. */
export function readSimulation(
  value: unknown,
  settlement: Settlement,
): SimulationResult | undefined {
  const [before, transfer, after] = callsIn(value).map(readCall);
  if (before === undefined || transfer === undefined || after === undefined) return undefined;
  const hasBurned =
    hasUsedUp(before, READ_GAS) ||
    hasUsedUp(after, READ_GAS) ||
    hasUsedUp(transfer, settlement.gas);
  return { effect: effectOf(before, transfer, after, settlement), hasBurned };
}

/** The result of a simulation after another call; `undefined` for a value that is not a simulation of four calls. */
export function readSimulationAfter(
  value: unknown,
  settlement: Settlement,
): EffectAfter | undefined {
  const calls = callsIn(value);
  const [first, ...rest] = calls;
  if (first === undefined || rest.length !== 3) return undefined;
  const read = readCall(first);
  if (read === undefined) return undefined;
  // A token may return false without reverting.
  if (!read.isSuccess || firstWordOf(read.data) === 0n) return { status: 'first_failed' };
  return readSimulation([{ calls: rest }], settlement)?.effect;
}

function callsIn(value: unknown): readonly unknown[] {
  const [block] = Array.isArray(value) ? (value as unknown[]) : [];
  if (typeof block !== 'object' || block === null || !('calls' in block)) return [];
  return Array.isArray(block.calls) ? (block.calls as unknown[]) : [];
}

interface SimulatedCall {
  readonly isSuccess: boolean;
  readonly gasUsed: bigint;
  /** The return data of the call, or its revert data. */
  readonly data: Hex;
  readonly isLong: boolean;
}

function readCall(value: unknown): SimulatedCall | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { status, gasUsed, returnData, error } = value as Readonly<Record<string, unknown>>;
  const used = readQuantity(gasUsed);
  if ((status !== '0x1' && status !== '0x0') || used === undefined) return undefined;
  const own = isHex(returnData) ? returnData : '0x';
  // Geth returns revert data in the error, other clients in place of the result.
  const inError =
    typeof error === 'object' && error !== null && 'data' in error
      ? revertDataOf({ data: error.data })
      : undefined;
  const data = own === '0x' ? (inError ?? own) : own;
  return {
    isSuccess: status === '0x1',
    gasUsed: used,
    data: boundedHex(data),
    isLong: data.length > LONG_ANSWER,
  };
}

/** Hex characters above any answer of an honest token. */
const LONG_ANSWER = 16_384;

function hasUsedUp({ isSuccess, gasUsed, isLong }: SimulatedCall, gas: bigint): boolean {
  return isLong || (!isSuccess && isAlmost(gasUsed, gas));
}

/** A call within a call leaves a 64th of its gas to the caller (EIP-150). */
function isAlmost(gasUsed: bigint, gas: bigint): boolean {
  return gasUsed * 10n >= gas * 9n;
}

function effectOf(
  before: SimulatedCall,
  transfer: SimulatedCall,
  after: SimulatedCall,
  settlement: Settlement,
): Effect {
  if (!transfer.isSuccess) {
    return transfer.data === '0x' && isAlmost(transfer.gasUsed, settlement.gas)
      ? { status: 'halted' }
      : { status: 'reverted', data: transfer.data };
  }
  const hasGrown =
    before.isSuccess && after.isSuccess && grows(before.data, after.data, settlement);
  return hasGrown ? { status: 'paid', gasUsed: transfer.gasUsed } : { status: 'unpaid' };
}

/**
 * Whether the payee's balance grew by the amount. If payer and payee are the same, only the receipt shows a transfer.
 */
function grows(before: Hex, after: Hex, { payer, payTo, amount }: Settlement): boolean {
  const [first, last] = [firstWordOf(before), firstWordOf(after)];
  if (first === undefined || last === undefined) return false;
  return payer === payTo ? last >= first : last - first >= amount;
}

// ---------------------------------------------------------------- without eth_simulateV1

/** Gas of a measured transfer besides the transfer: two balance reads and Multicall3. */
export const EFFECT_CALL_GAS = 2n * READ_GAS + 60_000n;

/** A transfer between two balance reads, made by Multicall3. */
export function effectCall(transfer: Call, balance: Call): Call {
  return aggregateCall([balance, transfer, balance]);
}

/**
 * The effect of such a call.
 *
 * @param data - its return data; empty on a chain without Multicall3, where it proves nothing.
 */
export function decodeEffectCall(data: Hex, settlement: Settlement): Effect {
  if (data === '0x') return { status: 'paid', gasUsed: undefined };
  const [before, transfer, after] = readAggregated(data) ?? [];
  const isPaid =
    before?.success === true &&
    transfer?.success === true &&
    after?.success === true &&
    grows(before.returnData, after.returnData, settlement);
  return isPaid ? { status: 'paid', gasUsed: undefined } : { status: 'unpaid' };
}

/** The intrinsic gas of a transaction, with every byte counted as non-zero (EIP-2028): an upper bound. */
export function intrinsicGasOf(call: Call): bigint {
  return 21_000n + 16n * bytesOf(call);
}

/** A transaction with a lower gas limit is refused, whatever it runs (EIP-7623). */
export function floorGasOf(call: Call): bigint {
  return 21_000n + 40n * bytesOf(call);
}

/** Nodes keep no larger transaction in their pools: 128 KiB, less what it holds beside the calldata. */
const CALLDATA_MAX_BYTES = 131_072n - 512n;

/** No node takes a transaction with this call, whatever it runs. */
export function isTooLong(call: Call): boolean {
  return bytesOf(call) > CALLDATA_MAX_BYTES;
}

function bytesOf({ data }: Call): bigint {
  return BigInt(Math.ceil((data.length - 2) / 2));
}

// ---------------------------------------------------------------- its sender

/** The fields of a simulated transaction that describe its sender. */
export function senderFields(sender: Sender | undefined): object {
  return sender === undefined
    ? {}
    : { from: sender.address, gasPrice: quantity(sender.gasPriceWei) };
}

/**
 * Gives a poor sender enough balance in the simulation: a missing gas balance must not look like a fault of the payment.
 */
export function balanceOverride(
  { address, gasPriceWei, balanceWei }: Sender,
  gas: bigint,
): Readonly<Record<Address, { readonly balance: string }>> | undefined {
  const needed = gas * gasPriceWei;
  return balanceWei >= needed
    ? undefined
    : { [address]: { balance: quantity(needed * BALANCE_FACTOR) } };
}
