import type { Address, Hex } from 'viem';
import { ChainUnavailableError } from '../errors.js';
import type { Requirements } from '../payment/payment.js';
import type { Authorization } from './authorization.js';
import { isValidSignatureCall, settlementCall } from './calls.js';
import type { CallOutcome, ChainReader } from './chain-reader.js';
import { diagnose } from './diagnose.js';
import { type Refusal, refuseByState, type VerifyContext } from './verdict.js';

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

/**
 * The refusal of a settlement that failed in a simulation, with its cause.
 *
 * @throws ChainUnavailableError when it succeeds in another one: that says nothing about the payment.
 */
export async function refuseFailed(
  failure: SimulationFailure,
  authorization: Authorization,
  requirements: Requirements,
  { chain, maxGas }: VerifyContext,
): Promise<Refusal> {
  if (failure === 'gas_limit_exceeded') return refuseByState(failure);
  const call = settlementCall(authorization, requirements.asset, chain.permit2Proxy);
  const again = (): Promise<CallOutcome> => chain.call(call, maxGas);
  const reason = await diagnose(chain, requirements, authorization, again);
  if (reason === undefined) throw new ChainUnavailableError(chain.chainId, 'twice the same');
  return refuseByState(reason);
}

/** Marks a read whose result may never be asked for, so that its failure is not an unhandled one. */
export function started<T>(read: Promise<T>): Promise<T> {
  read.catch(() => undefined);
  return read;
}
