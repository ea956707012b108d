import type {
  Eip3009Authorization,
  ExactAuthorization,
  Permit2Authorization,
} from '../../evm/authorization.js';
import { decodeAddress, decodeBoolean, decodeText, decodeUint } from '../../evm/call-results.js';
import {
  authorizationStateCall,
  balanceOfCall,
  nameCall,
  permit2AllowanceCall,
  proxyPermit2Call,
  versionCall,
} from '../../evm/calls.js';
import type { ChainReader } from '../../evm/chain-reader.js';
import type { Reason } from '../../reasons.js';
import type { DiagnosedTerms, FailedSimulation } from '../scheme.js';
import { isUsedReason, usedReasonOf } from './used-reasons.js';

/**
 * Why a settlement that failed in a simulation would not pay.
 *
 * The simulation and the reads that look for its cause may have been answered at different blocks: the
 * next one came between them, or another node behind the same endpoint is not as far. So whatever was
 * found is held against a second simulation.
 *
 * @returns `undefined` when it succeeds now: nothing is known for certain.
 * @throws ChainUnavailableError
 */
export async function diagnose(
  chain: ChainReader,
  terms: DiagnosedTerms,
  authorization: ExactAuthorization,
  { failure, again }: FailedSimulation,
): Promise<Reason | undefined> {
  const isEip3009 = authorization.method === 'eip3009';
  const found = isEip3009
    ? await diagnoseEip3009(chain, terms, authorization, failure.status === 'halted')
    : await diagnosePermit2(chain, terms, authorization);
  if (isUsedReason(found)) return found;
  const [repeated, state] = await Promise.all([
    again(),
    isEip3009
      ? chain.call(authorizationStateCall(terms.asset, authorization.from, authorization.nonce))
      : undefined,
  ]);
  if (repeated.status === 'paid') return undefined;
  // The block with this very payment may have come meanwhile; then it is why there is less.
  if (state !== undefined && decodeBoolean(state) === true)
    return usedReasonOf(authorization.method);
  return repeated.status === 'halted' && UNEXPLAINED.has(found) ? 'gas_limit_exceeded' : found;
}

/** Reasons that name no cause. */
export const UNEXPLAINED: ReadonlySet<Reason> = new Set<Reason>([
  'invalid_exact_evm_transaction_simulation_failed',
  'permit2_simulation_failed',
]);

/**
 * Read from the chain in one round trip. The order of the causes is that of the reference facilitator. A
 * read that fails proves nothing, but for `authorizationState`: a token without it does not speak
 * EIP-3009.
 */
async function diagnoseEip3009(
  chain: ChainReader,
  { asset, tokenName, tokenVersion, amount }: DiagnosedTerms,
  { from, nonce }: Eip3009Authorization,
  mayBurn: boolean,
): Promise<Reason> {
  const asked = chain.call(authorizationStateCall(asset, from, nonce));
  // Of a token that burns what it is given one question is asked before the others.
  if (mayBurn && (await asked).status === 'halted')
    return 'invalid_exact_evm_eip3009_not_supported';
  const [state, name, version, balance] = await Promise.all([
    asked,
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
    chain.call(proxyPermit2Call(chain.schemeContracts.permit2Proxy)),
    chain.call(balanceOfCall(asset, from)),
    chain.call(permit2AllowanceCall(asset, from)),
  ]);
  if (decodeAddress(permit2) === undefined) return 'permit2_proxy_not_deployed';
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
