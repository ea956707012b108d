import type { Eip3009Authorization } from '../../evm/authorization.js';
import { decodeBoolean, decodeText, decodeUint, isBelow } from '../../evm/call-results.js';
import { authorizationStateCall, balanceOfCall, nameCall, versionCall } from '../../evm/calls.js';
import type { ChainReader } from '../../evm/chain-reader.js';
import type { Reason } from '../../reasons.js';
import type { DiagnosedTerms, FailedSimulation } from '../scheme.js';

/**
 * The cause of a failed simulation. Simulation and reads may have been answered at different blocks, or by nodes that
 * lag. So every cause is checked by a second simulation.
 *
 * @returns `undefined` if the settlement succeeds now: then nothing is certain.
 * @throws ChainUnavailableError
 */
export async function diagnose(
  chain: ChainReader,
  terms: DiagnosedTerms,
  authorization: Eip3009Authorization,
  { failure, again }: FailedSimulation,
): Promise<Reason | undefined> {
  const found = await diagnoseEip3009(chain, terms, authorization, failure.status === 'halted');
  if (found === USED) return found;
  const [repeated, state] = await Promise.all([
    again(),
    chain.call(authorizationStateCall(terms.asset, authorization.from, authorization.nonce)),
  ]);
  if (repeated.status === 'paid') return undefined;
  // A new block may contain this very payment, which then explains the lower balance.
  if (decodeBoolean(state) === true) return USED;
  return repeated.status === 'halted' && found === UNEXPLAINED ? 'gas_limit_exceeded' : found;
}

const USED: Reason = 'invalid_exact_evm_nonce_already_used';
/** This reason does not name a cause. */
const UNEXPLAINED: Reason = 'invalid_exact_evm_transaction_simulation_failed';

/**
 * Reads all causes in one round trip, in the order of the reference facilitator. A failed read proves nothing, except
 * for `authorizationState`: a token without it does not support EIP-3009.
 */
async function diagnoseEip3009(
  chain: ChainReader,
  { asset, tokenName, tokenVersion, amount }: DiagnosedTerms,
  { from, nonce }: Eip3009Authorization,
  mayBurn: boolean,
): Promise<Reason> {
  const asked = chain.call(authorizationStateCall(asset, from, nonce));
  // A token that may burn gas is first sent one question only.
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

function differs(onChain: string | undefined, required: unknown): boolean {
  return onChain !== undefined && onChain !== required;
}
