import { type Address, decodeFunctionData, type Hex, parseAbi } from 'viem';
import { CHANNEL_ESCROW, MULTICALL3, type SchemeContracts } from '../evm/contracts.js';
import type { PresentedAuthorization } from './authorization-method.js';
import { actionBySelector } from './registry.js';

/**
 * The authorizations a transaction presents, directly or through Multicall3. Calls made
 * by other contracts are not seen: what cannot be read is not evidence.
 */
export function presentedAuthorizations(
  to: Address | null,
  data: Hex,
  contracts: SchemeContracts,
): readonly PresentedAuthorization[] {
  if (to === null) return [];
  const target = to.toLowerCase() as Address;
  const calls = target === MULTICALL3 ? innerCalls(data) : [{ target, callData: data }];
  return calls.flatMap(ofEscrow).flatMap((call) => presentedIn(call, contracts));
}

interface InnerCall {
  readonly target: Address;
  readonly callData: Hex;
}

/** Every function of Multicall3 that makes calls. */
const MULTICALL3_CALLS = parseAbi([
  'struct Call { address target; bytes callData; }',
  'struct Call3 { address target; bool allowFailure; bytes callData; }',
  'struct Call3Value { address target; bool allowFailure; uint256 value; bytes callData; }',
  'function aggregate(Call[] calls)',
  'function blockAndAggregate(Call[] calls)',
  'function tryAggregate(bool requireSuccess, Call[] calls)',
  'function tryBlockAndAggregate(bool requireSuccess, Call[] calls)',
  'function aggregate3(Call3[] calls)',
  'function aggregate3Value(Call3Value[] calls)',
]);
/** More calldata than any batch of this facilitator or of a copier needs, in hexadecimal digits. */
const CALLDATA_MAX_DIGITS = 1_000_000;

function innerCalls(data: Hex): readonly InnerCall[] {
  if (data.length > CALLDATA_MAX_DIGITS) return [];
  try {
    const { args } = decodeFunctionData({ abi: MULTICALL3_CALLS, data });
    return args.length === 1 ? args[0] : args[1];
  } catch {
    return [];
  }
}

const ESCROW_MULTICALL = parseAbi(['function multicall(bytes[] data)']);

/** The escrow of channels runs several calls of its own in one, too. */
function ofEscrow(call: InnerCall): readonly InnerCall[] {
  const { target, callData } = call;
  if (target.toLowerCase() !== CHANNEL_ESCROW || callData.length > CALLDATA_MAX_DIGITS) {
    return [call];
  }
  try {
    const [inner] = decodeFunctionData({ abi: ESCROW_MULTICALL, data: callData }).args;
    return inner.map((one) => ({ target, callData: one }));
  } catch {
    return [call];
  }
}

function presentedIn(
  { target, callData }: InnerCall,
  contracts: SchemeContracts,
): readonly PresentedAuthorization[] {
  const action = actionBySelector(callData.slice(2, 10));
  if (action === undefined) return [];
  try {
    const found = action.presentedIn(target.toLowerCase() as Address, callData, contracts);
    return found === undefined ? [] : [found];
  } catch {
    // Calldata that does not decode presents nothing.
    return [];
  }
}
