import { decodeAbiParameters, type Hex, parseAbiParameters } from 'viem';
import type { Requirements } from '../payment/payment.js';
import type { Reason } from '../reasons.js';
import type { Authorization, Eip3009Authorization, Permit2Authorization } from './authorization.js';
import {
  authorizationStateCall,
  balanceOfCall,
  nameCall,
  permit2AllowanceCall,
  proxyPermit2Call,
  versionCall,
} from './calls.js';
import type { CallOutcome, ChainReader } from './chain-reader.js';
import { isUsedReason, usedReasonOf } from './used.js';

/** What the seller requires, as far as a diagnosis compares it with the chain. */
export type DiagnosedTerms = Pick<Requirements, 'asset' | 'amount' | 'tokenName' | 'tokenVersion'>;

/**
 * Why a settlement that failed in a simulation would revert.
 *
 * The simulation and the reads that look for its cause may have been answered at different blocks: the
 * next one came between them, or another node behind the same endpoint is not as far. So whatever was
 * found is held against a second simulation.
 *
 * @param simulateAgain - the same simulation once more.
 * @returns `undefined` when it succeeds now: nothing is known for certain.
 * @throws ChainUnavailableError
 */
export async function diagnose(
  chain: ChainReader,
  terms: DiagnosedTerms,
  authorization: Authorization,
  simulateAgain: () => Promise<CallOutcome>,
): Promise<Reason | undefined> {
  const isEip3009 = authorization.method === 'eip3009';
  const found = isEip3009
    ? await diagnoseEip3009(chain, terms, authorization)
    : await diagnosePermit2(chain, terms, authorization);
  if (isUsedReason(found)) return found;
  const [again, state] = await Promise.all([
    simulateAgain(),
    isEip3009
      ? chain.call(authorizationStateCall(terms.asset, authorization.from, authorization.nonce))
      : undefined,
  ]);
  if (again.status === 'returned') return undefined;
  // The block with this very payment may have come meanwhile; then it is why there is less.
  return state !== undefined && decodeBoolean(state) === true ? usedReasonOf(authorization) : found;
}

/**
 * Read from the chain in one round trip. The order of the causes is that of the reference facilitator. A
 * read that fails proves nothing, but for `authorizationState`: a token without it does not speak
 * EIP-3009.
 */
async function diagnoseEip3009(
  chain: ChainReader,
  { asset, tokenName, tokenVersion, amount }: DiagnosedTerms,
  { from, nonce }: Eip3009Authorization,
): Promise<Reason> {
  const [state, name, version, balance] = await Promise.all([
    chain.call(authorizationStateCall(asset, from, nonce)),
    chain.call(nameCall(asset)),
    chain.call(versionCall(asset)),
    chain.call(balanceOfCall(asset, from)),
  ]);
  const isUsed = decodeBoolean(state);
  if (isUsed === undefined) return 'invalid_exact_evm_eip3009_not_supported';
  if (isUsed) return 'invalid_exact_evm_nonce_already_used';
  if (differs(decodeText(name), tokenName)) return 'invalid_exact_evm_token_name_mismatch';
  if (differs(decodeText(version), tokenVersion)) return 'invalid_exact_evm_token_version_mismatch';
  return isBelow(decodeUint(balance), amount)
    ? 'invalid_exact_evm_insufficient_balance'
    : 'invalid_exact_evm_transaction_simulation_failed';
}

/** The same for Permit2. A used nonce has no cause of its own here. */
export async function diagnosePermit2(
  chain: ChainReader,
  { asset, amount }: DiagnosedTerms,
  { from }: Permit2Authorization,
): Promise<Reason> {
  const [permit2, balance, allowance] = await Promise.all([
    chain.call(proxyPermit2Call(chain.permit2Proxy)),
    chain.call(balanceOfCall(asset, from)),
    chain.call(permit2AllowanceCall(asset, from)),
  ]);
  if (decodeWith('address', permit2) === undefined) return 'permit2_proxy_not_deployed';
  if (isBelow(decodeUint(balance), amount)) return 'permit2_insufficient_balance';
  return isBelow(decodeUint(allowance), amount)
    ? 'permit2_allowance_required'
    : 'permit2_simulation_failed';
}

function differs(onChain: string | undefined, required: unknown): boolean {
  return onChain !== undefined && onChain !== required;
}

function isBelow(value: bigint | undefined, amount: bigint): boolean {
  return value !== undefined && value < amount;
}

export function decodeUint(outcome: CallOutcome): bigint | undefined {
  return decodeWith('uint256', outcome) as bigint | undefined;
}

export function decodeBoolean(outcome: CallOutcome): boolean | undefined {
  return decodeWith('bool', outcome) as boolean | undefined;
}

function decodeText(outcome: CallOutcome): string | undefined {
  return decodeWith('string', outcome) as string | undefined;
}

/** The one value a call returned, or `undefined` when it reverted or returned something else. */
function decodeWith(type: string, outcome: CallOutcome): unknown {
  if (outcome.status !== 'returned') return undefined;
  return decodeOne(type, outcome.data);
}

function decodeOne(type: string, data: Hex): unknown {
  try {
    return decodeAbiParameters(parseAbiParameters(type), data)[0];
  } catch {
    // Not of this type: the caller treats it as no answer.
    return undefined;
  }
}
