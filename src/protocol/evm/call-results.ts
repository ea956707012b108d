import { decodeAbiParameters, type Hex, parseAbiParameters } from 'viem';
import { elementsOf, numberAt } from './abi-list.js';
import type { CallOutcome } from './chain-reader.js';

/** Readers of the one value a call returned; `undefined` when it reverted or returned something else. */

export function decodeUint(outcome: CallOutcome): bigint | undefined {
  return decodeWith('uint256', outcome) as bigint | undefined;
}

export function decodeBoolean(outcome: CallOutcome): boolean | undefined {
  return decodeWith('bool', outcome) as boolean | undefined;
}

export function decodeText(outcome: CallOutcome): string | undefined {
  return decodeWith('string', outcome) as string | undefined;
}

export function decodeAddress(outcome: CallOutcome): string | undefined {
  return decodeWith('address', outcome) as string | undefined;
}

function decodeWith(type: string, outcome: CallOutcome): unknown {
  if (outcome.status !== 'returned') return undefined;
  try {
    return decodeAbiParameters(parseAbiParameters(type), outcome.data)[0];
  } catch {
    // A value of another type: the caller treats it as no answer.
    return undefined;
  }
}

/** Whether a readable number is less than an amount. */
export function isBelow(value: bigint | undefined, amount: bigint): boolean {
  return value !== undefined && value < amount;
}

/** The result of one call of an `aggregate3`. */
export interface AggregatedResult {
  readonly success: boolean;
  readonly returnData: Hex;
}

/** The results of an `aggregate3`; `undefined` for data that is not one. */
export function readAggregated(data: Hex): readonly AggregatedResult[] | undefined {
  const digits = data.slice(2);
  const elements = elementsOf(digits, 0, 1);
  if (elements === undefined) return undefined;
  const results: AggregatedResult[] = [];
  for (const { at, bytes } of elements) {
    const success = numberAt(digits, at);
    if (success > 1) return undefined;
    results.push({ success: success === 1, returnData: `0x${bytes}` });
  }
  return results;
}
