import { type Address, decodeAbiParameters, type Hex, decodeFunctionData, parseAbi } from 'viem';
import {
  SETTLE,
  SETTLE_WITH_PERMIT,
  TRANSFER_WITH_BYTES,
  TRANSFER_WITH_VRS,
} from '../../evm/calls.js';
import { MULTICALL3, type SchemeContracts } from '../../evm/contracts.js';
import type { TransferMethod } from '../../evm/transfer-method.js';

/** An authorization that some transaction presents to the chain, read from its calldata. */
export interface PresentedAuthorization {
  readonly method: TransferMethod;
  readonly token: Address;
  readonly from: Address;
  readonly to: Address;
  /** Atomic units. */
  readonly amount: bigint;
  readonly nonce: bigint;
}

/**
 * The exact-scheme authorizations a transaction presents, directly or through Multicall3. Calls made
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
  return calls.flatMap((call) => presentedIn(call, contracts));
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
/** More calldata than any block of ours or of a copier needs, in hexadecimal digits. */
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

const EIP3009_WORDS = [
  { type: 'address' },
  { type: 'address' },
  { type: 'uint256' },
  { type: 'uint256' },
  { type: 'uint256' },
  { type: 'bytes32' },
] as const;

/** token, amount, nonce, deadline, owner, witness.to, witness.validAfter */
const PERMIT2_WORDS = [
  { type: 'address' },
  { type: 'uint256' },
  { type: 'uint256' },
  { type: 'uint256' },
  { type: 'address' },
  { type: 'address' },
  { type: 'uint256' },
] as const;
const SPONSORED_PERMIT_WORDS = 5;

function presentedIn(
  { target, callData }: InnerCall,
  { permit2Proxy }: SchemeContracts,
): readonly PresentedAuthorization[] {
  const selector = callData.slice(2, 10);
  const body: Hex = `0x${callData.slice(10)}`;
  try {
    if (selector === TRANSFER_WITH_VRS || selector === TRANSFER_WITH_BYTES) {
      const [from, to, amount, , , nonce] = decodeAbiParameters(EIP3009_WORDS, body);
      return [presented('eip3009', target, from, to, amount, BigInt(nonce))];
    }
    const isOfProxy = target.toLowerCase() === permit2Proxy;
    if (isOfProxy && (selector === SETTLE || selector === SETTLE_WITH_PERMIT)) {
      const skipped = selector === SETTLE_WITH_PERMIT ? SPONSORED_PERMIT_WORDS * 64 : 0;
      const words: Hex = `0x${body.slice(2 + skipped)}`;
      const [token, amount, nonce, , owner, to] = decodeAbiParameters(PERMIT2_WORDS, words);
      return [presented('permit2', token, owner, to, amount, nonce)];
    }
  } catch {
    // Calldata that does not decode presents nothing.
  }
  return [];
}

function presented(
  method: TransferMethod,
  token: string,
  from: string,
  to: string,
  amount: bigint,
  nonce: bigint,
): PresentedAuthorization {
  return {
    method,
    token: token.toLowerCase() as Address,
    from: from.toLowerCase() as Address,
    to: to.toLowerCase() as Address,
    amount,
    nonce,
  };
}
