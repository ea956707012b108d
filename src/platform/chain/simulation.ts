import { type Hex, isHex } from 'viem';
import type { EffectAfter, FirstCall } from '../../protocol/evm/approval-chain.js';
import { readAggregated } from '../../protocol/evm/call-results.js';
import { aggregateCall, balanceOfCall, type Call } from '../../protocol/evm/calls.js';
import { type Effect, READ_GAS, type Settlement } from '../../protocol/evm/chain-reader.js';
import { quantity, readQuantity } from './block.js';
import { boundedHex, revertDataOf } from './rpc/rpc-classes.js';
import { balanceOverride, senderFields } from './sender-fields.js';

/**
 * The argument of `eth_simulateV1`: balance, settlement, balance, in one state.
 *
 * @param first - comes before all of them.
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
  /** Whether any of the calls used up what it was given, or answered at great length. */
  readonly hasBurned: boolean;
}

/** Reads what a node simulated; `undefined` for what is no simulation of three calls. */
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

/** What a node simulated where another call came first; `undefined` for what is no simulation of four calls. */
export function readSimulationAfter(
  value: unknown,
  settlement: Settlement,
): EffectAfter | undefined {
  const calls = callsIn(value);
  const [first, ...rest] = calls;
  if (first === undefined || rest.length !== 3) return undefined;
  const read = readCall(first);
  if (read === undefined) return undefined;
  // A token may say no without reverting.
  if (!read.isSuccess || isFalse(read.data)) return { status: 'first_failed' };
  return readSimulation([{ calls: rest }], settlement)?.effect;
}

function isFalse(data: Hex): boolean {
  return data.length >= WORD_END && readWord(data) === 0n;
}

function callsIn(value: unknown): readonly unknown[] {
  const [block] = Array.isArray(value) ? (value as unknown[]) : [];
  if (typeof block !== 'object' || block === null || !('calls' in block)) return [];
  return Array.isArray(block.calls) ? (block.calls as unknown[]) : [];
}

interface SimulatedCall {
  readonly isSuccess: boolean;
  readonly gasUsed: bigint;
  /** What it returned, or its revert data. */
  readonly data: Hex;
  readonly isLong: boolean;
}

function readCall(value: unknown): SimulatedCall | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { status, gasUsed, returnData, error } = value as Readonly<Record<string, unknown>>;
  const used = readQuantity(gasUsed);
  if ((status !== '0x1' && status !== '0x0') || used === undefined) return undefined;
  const own = isHex(returnData) ? returnData : '0x';
  // Geth gives revert data in the error, others where the result would be.
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

/** Characters of hex that no honest token answers with. */
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
 * Whether a payee has the amount more than before. One that pays itself has the same: there only the
 * receipt shows whether anything was transferred.
 */
function grows(before: Hex, after: Hex, { payer, payTo, amount }: Settlement): boolean {
  const [first, last] = [readWord(before), readWord(after)];
  if (first === undefined || last === undefined) return false;
  return payer === payTo ? last >= first : last - first >= amount;
}

function readWord(data: Hex): bigint | undefined {
  return data.length >= WORD_END ? BigInt(data.slice(0, WORD_END)) : undefined;
}

/** Characters of `0x` and one word. */
const WORD_END = 66;

// ---------------------------------------------------------------- without eth_simulateV1

/** Gas of a watched transfer beyond that of the transfer: two looks at a balance, and Multicall3. */
export const EFFECT_CALL_GAS = 2n * READ_GAS + 60_000n;

/** A transfer between two looks at a balance, made by Multicall3. */
export function effectCall(transfer: Call, balance: Call): Call {
  return aggregateCall([balance, transfer, balance]);
}

/**
 * What such a call brought about.
 *
 * @param data - what it returned; nothing on a chain without Multicall3, where nothing can be proved.
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

/** What a transaction costs before it runs, none of its bytes being zero (EIP-2028): never less than it does. */
export function intrinsicGasOf(call: Call): bigint {
  return 21_000n + 16n * bytesOf(call);
}

/** Below this gas limit a transaction is not taken, whatever it runs (EIP-7623). */
export function floorGasOf(call: Call): bigint {
  return 21_000n + 40n * bytesOf(call);
}

function bytesOf({ data }: Call): bigint {
  return BigInt(Math.ceil((data.length - 2) / 2));
}
