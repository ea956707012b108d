import type { Address, Hex } from 'viem';
import type { Requirements } from '../payment/payment.js';
import type { Authorization } from './authorization.js';
import { isValidSignatureCall, settlementCall } from './calls.js';
import type { ChainReader } from './chain-reader.js';
import type { VerifyContext } from './verdict.js';

const ERC1271_MAGIC_VALUE = '0x1626ba7e';
/**
 * Gas a wallet may spend on checking a signature. Generous for passkey wallets, and a bound on what
 * one request can make a node compute.
 */
const ERC1271_GAS = 3_000_000n;

/** ERC-1271, with no fallback to ECDSA: the token on chain would not fall back either. */
export async function isSignedByContract(
  chain: ChainReader,
  wallet: Address,
  digest: Hex,
  signature: Hex,
): Promise<boolean> {
  const outcome = await chain.call(isValidSignatureCall(wallet, digest, signature), ERC1271_GAS);
  return (
    outcome.status === 'returned' &&
    outcome.data.length >= 66 &&
    outcome.data.startsWith(ERC1271_MAGIC_VALUE)
  );
}

export type SimulationFailure = 'reverted' | 'gas_limit_exceeded';

/** Runs the settlement on the newest block; `undefined` means it succeeds within the gas limit. */
export async function simulate(
  authorization: Authorization,
  { asset }: Requirements,
  { chain, maxGas }: VerifyContext,
): Promise<SimulationFailure | undefined> {
  const call = settlementCall(authorization, asset, chain.permit2Proxy);
  const outcome = await chain.call(call, maxGas);
  if (outcome.status === 'returned') return undefined;
  // Revert data proves that the contract itself refused. Without it the cause may be the limit.
  if (outcome.data !== undefined && outcome.data !== '0x') return 'reverted';
  const unlimited = await chain.call(call);
  return unlimited.status === 'returned' ? 'gas_limit_exceeded' : 'reverted';
}

/** Marks a read whose result may never be asked for, so that its failure is not an unhandled one. */
export function started<T>(read: Promise<T>): Promise<T> {
  read.catch(() => undefined);
  return read;
}
