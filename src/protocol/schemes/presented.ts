import type { Address, Hex } from 'viem';
import { elementsOf } from '../evm/abi-list.js';
import { selectorOf } from '../evm/calls.js';
import { CHANNEL_ESCROW, MULTICALL3, type SchemeContracts } from '../evm/contracts.js';
import type { PresentedAuthorization } from './authorization-method.js';
import { actionBySelector } from './registry.js';

/**
 * The authorizations that a transaction presents, directly or through Multicall3. Calls by other contracts are not
 * visible in calldata, so they are not evidence.
 */
export function presentedAuthorizations(
  to: Address | null,
  data: Hex,
  contracts: SchemeContracts,
): readonly PresentedAuthorization[] {
  if (to === null) return [];
  const target = to.toLowerCase() as Address;
  const call = { target, callData: data };
  const calls = target === MULTICALL3 ? (callsIn(call, OF_MULTICALL3) ?? []) : [call];
  return calls.flatMap(ofEscrow).flatMap((one) => presentedIn(one, contracts));
}

interface InnerCall {
  /** Lower case. */
  readonly target: Address;
  readonly callData: Hex;
}

/** A function whose last argument is a list of calls: the place of the argument, and of the calldata in an element. */
interface ListOfCalls {
  readonly argument: number;
  /** The word of an element; absent where the element itself is the calldata. */
  readonly callData?: number;
}

/** Every function of Multicall3 that makes calls, by its selector. */
const OF_MULTICALL3: ReadonlyMap<string, ListOfCalls> = new Map([
  [selectorOf('aggregate((address,bytes)[])'), { argument: 0, callData: 1 }],
  [selectorOf('blockAndAggregate((address,bytes)[])'), { argument: 0, callData: 1 }],
  [selectorOf('tryAggregate(bool,(address,bytes)[])'), { argument: 1, callData: 1 }],
  [selectorOf('tryBlockAndAggregate(bool,(address,bytes)[])'), { argument: 1, callData: 1 }],
  [selectorOf('aggregate3((address,bool,bytes)[])'), { argument: 0, callData: 2 }],
  [selectorOf('aggregate3Value((address,bool,uint256,bytes)[])'), { argument: 0, callData: 3 }],
]);
/** The escrow of channels can also run several of its own calls in one transaction. */
const OF_ESCROW: ReadonlyMap<string, ListOfCalls> = new Map([
  [selectorOf('multicall(bytes[])'), { argument: 0 }],
]);

/** More calldata, in hex digits, than any batch of this facilitator needs, or a copy of such a batch. */
const CALLDATA_MAX_DIGITS = 1_000_000;
/** Digits of a word. */
const WORD = 64;
/** Digits of an address, at the end of its word. */
const ADDRESS = 40;

/** The call itself, if it makes no other calls. */
function ofEscrow(call: InnerCall): readonly InnerCall[] {
  if (call.target !== CHANNEL_ESCROW) return [call];
  return callsIn(call, OF_ESCROW) ?? [call];
}

/** The calls that a call makes; `undefined` where it makes none that can be read. */
function callsIn(
  { target, callData: data }: InnerCall,
  functions: ReadonlyMap<string, ListOfCalls>,
): readonly InnerCall[] | undefined {
  const list = functions.get(data.slice(2, 10));
  if (list === undefined || data.length > CALLDATA_MAX_DIGITS) return undefined;
  const { argument, callData } = list;
  const words = data.slice(10);
  return elementsOf(words, argument, callData)?.map(({ at, bytes }) => ({
    target: callData === undefined ? target : addressAt(words, at),
    callData: `0x${bytes}`,
  }));
}

function addressAt(words: string, at: number): Address {
  return `0x${words.slice(at + WORD - ADDRESS, at + WORD)}`.toLowerCase() as Address;
}

function presentedIn(
  { target, callData }: InnerCall,
  contracts: SchemeContracts,
): readonly PresentedAuthorization[] {
  const action = actionBySelector(callData.slice(2, 10));
  if (action === undefined) return [];
  try {
    const found = action.presentedIn(target, callData, contracts);
    return found === undefined ? [] : [found];
  } catch {
    // Calldata that cannot be decoded presents nothing.
    return [];
  }
}
