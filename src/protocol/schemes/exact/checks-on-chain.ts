import type { Address, Hex } from 'viem';
import { ChainUnavailableError } from '../../errors.js';
import type { ExactAuthorization } from '../../evm/authorization.js';
import { isValidSignatureCall, settlementCall } from '../../evm/calls.js';
import type { FailedEffect, Settlement } from '../../evm/chain-reader.js';
import type { Requirements } from '../../payment/payment.js';
import { type Refusal, refuseByState, type VerifyContext } from '../verdict.js';
import { diagnose } from './diagnose.js';

const ERC1271_MAGIC_VALUE = '0x1626ba7e';
/**
 * ERC-1271, with no fallback to ECDSA: the token on chain would not fall back either. A wallet gets no
 * more gas for it than the whole settlement may cost.
 */
export async function isSignedByContract(
  { chain, maxGas: gas }: Pick<VerifyContext, 'chain' | 'maxGas'>,
  wallet: Address,
  digest: Hex,
  signature: Hex,
): Promise<boolean> {
  const call = isValidSignatureCall(wallet, digest, signature);
  const outcome = await chain.call(call, gas);
  return (
    outcome.status === 'returned' &&
    outcome.data.length >= 66 &&
    outcome.data.startsWith(ERC1271_MAGIC_VALUE)
  );
}

/** Runs the settlement on the newest block, from a lane's account; `undefined` means that it pays. */
export async function simulate(
  authorization: ExactAuthorization,
  requirements: Requirements,
  context: VerifyContext,
): Promise<FailedEffect | undefined> {
  const effect = await context.chain.simulate(settlementOf(authorization, requirements, context));
  return effect.status === 'paid' ? undefined : effect;
}

function settlementOf(
  authorization: ExactAuthorization,
  { asset, payTo, amount }: Requirements,
  { maxGas, sender }: VerifyContext,
): Settlement {
  return {
    call: settlementCall(authorization, asset),
    sender,
    gas: maxGas,
    token: asset,
    payer: authorization.from,
    payTo,
    amount,
  };
}

/**
 * The refusal of a settlement that failed in a simulation, with its cause.
 *
 * @throws ChainUnavailableError when it succeeds in another one: that says nothing about the payment.
 */
export async function refuseFailed(
  failure: FailedEffect,
  authorization: ExactAuthorization,
  requirements: Requirements,
  context: VerifyContext,
): Promise<Refusal> {
  const { chain } = context;
  const settlement = settlementOf(authorization, requirements, context);
  const reason = await diagnose(chain, requirements, authorization, {
    failure,
    again: () => chain.simulate(settlement),
  });
  if (reason === undefined) throw new ChainUnavailableError(chain.chainId, 'twice the same');
  return refuseByState(reason);
}
