import type { Address, Hex } from 'viem';
import type { Eip3009Authorization } from '../../evm/authorization.js';
import { decodeUint, isBelow } from '../../evm/call-results.js';
import { balanceOfCall, settlementCall } from '../../evm/calls.js';
import type { ChainReader, Effect, FailedEffect } from '../../evm/chain-reader.js';
import type { Deployment } from '../../evm/erc6492.js';
import { rememberTokenDomain, type TokenDomain } from '../../evm/typed-data.js';
import type { Payment } from '../../payment/payment.js';
import type { Reason } from '../../reasons.js';
import {
  isSignedByContract,
  isSignedOnceDeployed,
  refuseFailed,
  type SettlingCall,
  simulate,
} from '../checks-on-chain.js';
import {
  refuse,
  refuseByState,
  type Verdict,
  type VerifyContext,
  type VerifyScope,
} from '../verdict.js';
import { diagnose } from './diagnose.js';

/** Gas that making a wallet may cost beyond the payment: factories in use take 150 000 to 350 000. */
export const DEPLOYMENT_GAS = 500_000n;

/** A payment of a wallet that is not there yet, as far as it is read. */
interface UndeployedPayment {
  readonly authorization: Eip3009Authorization & { readonly deployment: Deployment };
  readonly domain: TokenDomain;
  /** The digest that the wallet must have signed. */
  readonly digest: Hex;
  /** The first broken one of the checks that need no chain. */
  readonly broken: Reason | undefined;
}

/** The call that would settle a payment by EIP-3009. */
export function settlingOf(authorization: Eip3009Authorization, asset: Address): SettlingCall {
  const { from, validAfter } = authorization;
  return {
    call: settlementCall(authorization, asset),
    payer: from,
    // The token wants a block time above `validAfter`.
    earliest: {
      time: validAfter + 1n,
      reason: 'invalid_exact_evm_payload_authorization_valid_after',
    },
  };
}

/**
 * Judges a payment by EIP-3009 of a wallet that its factory, one that is allowed, has yet to make (ERC-6492).
 *
 * As in the reference the transfer is proved first, with the wallet made in the same call. That alone would
 * let an account without a wallet have anything made at our cost: so the wallet itself is asked, too.
 */
export async function verifyUndeployed(
  { requirements }: Payment,
  { authorization, domain, digest, broken }: UndeployedPayment,
  usual: VerifyContext,
  scope: VerifyScope,
): Promise<Verdict> {
  const { chain } = usual;
  const { asset, amount } = requirements;
  const { from, deployment, signature } = authorization;
  const context = { ...usual, maxGas: usual.maxGas + DEPLOYMENT_GAS };
  // The wallet may have been deployed since the first look, and its factory may then answer otherwise: the wallet
  // itself is called. Without code the call returns nothing.
  const isSigned = async (): Promise<boolean> =>
    (await isSignedOnceDeployed(context, from, deployment, digest, signature)) ||
    (await isSignedByContract(context, from, digest, signature));
  const good: Verdict = { isValid: true, authorization, payerHasCode: false };
  if (scope === 'terms') {
    if (!(await isSigned())) return refuseByState('invalid_exact_evm_signature');
    return broken === undefined ? good : refuse(broken);
  }
  if (broken !== undefined) return refuse(broken);
  const [isContract, mayRun] = await Promise.all([
    chain.isContract(asset),
    holds(chain, asset, from, amount),
  ]);
  if (!isContract) return refuse('asset_not_deployed_contract');
  const settling = settlingOf(authorization, asset);
  // Undeployed wallets cost nothing to name: their code is run only for those with the balance.
  const failure = mayRun ? await simulate(settling, requirements, context) : NOT_RUN;
  if (failure === undefined) {
    if (!(await isSigned())) return refuseByState('invalid_exact_evm_signature');
    rememberTokenDomain(domain);
    return good;
  }
  return refuseFailed(failure, settling, requirements, context, ({ again }) =>
    diagnose(chain, requirements, authorization, {
      failure,
      again: mayRun
        ? again
        : async () => ((await holds(chain, asset, from, amount)) ? NOT_RUN_BEFORE : NOT_RUN),
    }),
  );
}

const NOT_RUN: FailedEffect = { status: 'reverted', data: undefined };
/** The money has come meanwhile: nothing is known of the payment. */
const NOT_RUN_BEFORE: Effect = { status: 'paid', gasUsed: undefined };

/** Whether an account is not known to hold less than the amount. */
async function holds(
  chain: ChainReader,
  asset: Address,
  owner: Address,
  amount: bigint,
): Promise<boolean> {
  return !isBelow(decodeUint(await chain.call(balanceOfCall(asset, owner))), amount);
}
