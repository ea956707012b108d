import type { Address, Hex } from 'viem';
import { ChainUnavailableError } from '../errors.js';
import { readAggregated } from '../evm/call-results.js';
import { type Call, isValidSignatureCall, onceDeployed, withSuffix } from '../evm/calls.js';
import type { ChainReader, Effect, FailedEffect, Settlement } from '../evm/chain-reader.js';
import type { Deployment } from '../evm/erc6492.js';
import type { Requirements } from '../payment/payment.js';
import type { Reason } from '../reasons.js';
import { inWords } from './revert-reason.js';
import type { FailedSimulation } from './scheme.js';
import { type Refusal, refuseByState, type VerifyContext } from './verdict.js';

const ERC1271_MAGIC_VALUE = '0x1626ba7e';
/**
 * ERC-1271, without a fallback to ECDSA, because tokens do not fall back either. The gas is limited to the gas of a
 * whole settlement.
 */
export async function isSignedByContract(
  { chain, maxGas: gas }: { readonly chain: Pick<ChainReader, 'call'>; readonly maxGas: bigint },
  wallet: Address,
  digest: Hex,
  signature: Hex,
): Promise<boolean> {
  const call = isValidSignatureCall(wallet, digest, signature);
  const outcome = await chain.call(call, gas);
  return outcome.status === 'returned' && isMagic(outcome.data);
}

/**
 * ERC-1271 for a wallet that its factory deploys in the same call. An account without code after that has not signed.
 */
export async function isSignedOnceDeployed(
  { chain, maxGas: gas }: Pick<VerifyContext, 'chain' | 'maxGas'>,
  wallet: Address,
  deployment: Deployment,
  digest: Hex,
  signature: Hex,
): Promise<boolean> {
  const asked = isValidSignatureCall(wallet, digest, signature);
  const outcome = await chain.call(onceDeployed(deployment, wallet, asked, true), gas);
  const [, answer] = outcome.status === 'returned' ? (readAggregated(outcome.data) ?? []) : [];
  return answer?.success === true && isMagic(answer.returnData);
}

function isMagic(returned: Hex): boolean {
  return returned.length >= 66 && returned.startsWith(ERC1271_MAGIC_VALUE);
}

/** The call that would settle a payment. */
export interface SettlingCall {
  readonly call: Call;
  readonly payer: Address;
  /** Whether only one account may send the call. */
  readonly isSenderBound?: boolean;
  /** The time of the earliest block that accepts the call, in Unix seconds, and the reason before that time. */
  readonly earliest: { readonly time: bigint; readonly reason: Reason };
}

/** Upper bound of how far the newest block of a live chain is behind the clock. */
const BLOCKS_BEHIND_SECONDS = 120n;

/** These reasons do not name a cause. */
const UNEXPLAINED: ReadonlySet<Reason> = new Set<Reason>([
  'invalid_exact_evm_transaction_simulation_failed',
  'permit2_simulation_failed',
  'invalid_batch_settlement_evm_deposit_simulation_failed',
]);

/**
 * Simulates the settlement on the newest block, from the account of a lane.
 *
 * @returns `undefined` if it pays.
 */
export async function simulate(
  settling: SettlingCall,
  requirements: Requirements,
  context: VerifyContext,
): Promise<FailedEffect | undefined> {
  const settlement = settlementOf(settling, requirements, context);
  const effect = await context.chain.simulate({ ...settlement, mayJoin: true });
  return effect.status === 'paid' ? undefined : effect;
}

/**
 * The settlement to simulate. It equals the later transaction byte for byte, because contracts could detect a
 * difference.
 */
export function settlementOf(
  { call: bare, payer, isSenderBound = false }: SettlingCall,
  { asset, payTo, amount }: Requirements,
  { maxGas, sender, dataSuffix }: VerifyContext,
): Settlement {
  const call = withSuffix(bare, dataSuffix);
  const bound = isSenderBound && { isSenderBound };
  return { call, sender, ...bound, gas: maxGas, token: asset, payer, payTo, amount };
}

/**
 * The refusal for a settlement whose simulation failed, with its cause.
 *
 * @param diagnose - finds the cause; see `Action.diagnose`.
 * @throws ChainUnavailableError if a second simulation succeeds: then nothing is known about the payment.
 */
export async function refuseFailed(
  failure: FailedEffect,
  settling: SettlingCall,
  requirements: Requirements,
  context: VerifyContext,
  diagnose: (failed: FailedSimulation) => Promise<Reason | undefined>,
): Promise<Refusal> {
  const { chain } = context;
  const { earliest } = settling;
  const settlement = settlementOf(settling, requirements, context);
  const again = (): Promise<Effect> => chain.simulate(settlement);
  // Contracts use the time of the newest block, which is behind the clock. The time is read before the last
  // simulation, because a block may arrive in between.
  const isNew = earliest.time > BigInt(context.now) - BLOCKS_BEHIND_SECONDS;
  const newestTime = isNew ? await chain.newestTime() : undefined;
  const reason = await diagnose({ failure, again });
  const tooEarly = { ...refuseByState(earliest.reason), validFrom: earliest.time };
  if (reason === undefined) {
    // The block that accepts it arrived during the diagnosis, so the verifier checks again because of `validFrom`.
    if (isNew) return tooEarly;
    throw new ChainUnavailableError(chain.chainId, 'eth_call (confirmation)');
  }
  if (!UNEXPLAINED.has(reason)) return refuseByState(reason);
  return newestTime !== undefined && newestTime < earliest.time
    ? tooEarly
    : { ...refuseByState(reason), cause: inWords(failure) };
}
