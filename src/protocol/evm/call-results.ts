import {
  decodeAbiParameters,
  decodeFunctionResult,
  type Hex,
  multicall3Abi,
  parseAbiParameters,
} from 'viem';
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
    // Not of this type: the caller treats it as no answer.
    return undefined;
  }
}

/** Whether a number that could be read is less than an amount. */
export function isBelow(value: bigint | undefined, amount: bigint): boolean {
  return value !== undefined && value < amount;
}

/** The results of an `aggregate3`; `undefined` for data that is not one. */
export function readAggregated(
  data: Hex,
): readonly { readonly success: boolean; readonly returnData: Hex }[] | undefined {
  try {
    return decodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', data });
  } catch {
    // Something else than Multicall3 answered.
    return undefined;
  }
}
