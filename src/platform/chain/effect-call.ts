import type { Hex } from 'viem';
import { readAggregated } from '../../protocol/evm/call-results.js';
import { aggregateCall, type Call } from '../../protocol/evm/calls.js';
import { type Effect, READ_GAS, type Settlement } from '../../protocol/evm/chain-reader.js';
import { grows } from './simulation.js';

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
