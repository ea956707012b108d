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

/** Gas for the deployment of a wallet, besides the payment. Known factories use 150 000 to 350 000. */
export const DEPLOYMENT_GAS = 500_000n;

/** A payment from a wallet that is not deployed yet, with its reads. */
interface UndeployedPayment {
  readonly authorization: Eip3009Authorization & { readonly deployment: Deployment };
  readonly domain: TokenDomain;
  /** The digest that the wallet must have signed. */
  readonly digest: Hex;
  /** The first failed check of those that need no chain. */
  readonly broken: Reason | undefined;
}

/** The call that would settle a payment by EIP-3009. */
export function settlingOf(authorization: Eip3009Authorization, asset: Address): SettlingCall {
  const { from, validAfter } = authorization;
  return {
    call: settlementCall(authorization, asset),
    payer: from,
    // The token requires a block time above `validAfter`.
    earliest: {
      time: validAfter + 1n,
      reason: 'invalid_exact_evm_payload_authorization_valid_after',
    },
  };
}

/**
 * Verifies an EIP-3009 payment from a wallet that an allowed factory has yet to deploy (ERC-6492). As in the
 * reference, first the transfer is simulated, with the deployment in the same call. That alone would let an account
 * without a wallet deploy anything at the cost of this service, so the wallet itself must confirm the signature too.
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
  // The wallet may have been deployed since the first read, and its factory may then answer differently. So the
  // wallet itself is called. Without code, the call returns nothing.
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
  // Undeployed wallets are free to invent, so only those with the balance are simulated.
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
/** The money arrived during the verification, so the result is unknown. */
const NOT_RUN_BEFORE: Effect = { status: 'paid', gasUsed: undefined };

/** Whether an account may hold the amount: its balance is sufficient or not known. */
async function holds(
  chain: ChainReader,
  asset: Address,
  owner: Address,
  amount: bigint,
): Promise<boolean> {
  return !isBelow(decodeUint(await chain.call(balanceOfCall(asset, owner))), amount);
}
