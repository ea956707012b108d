import type { Address } from 'viem';
import { decodeAddress, decodeUint, isBelow } from '../../evm/call-results.js';
import { balanceOfCall, permit2AllowanceCall, proxyPermit2Call } from '../../evm/calls.js';
import type { ChainReader } from '../../evm/chain-reader.js';
import type { Reason } from '../../reasons.js';
import type { DiagnosedTerms, FailedSimulation } from '../scheme.js';

/** The payer of a Permit2 payment, and the spender contract that the payer signed. */
interface Permit2Parties {
  readonly payer: Address;
  readonly proxy: Address;
}

/** This reason does not name a cause. */
const UNEXPLAINED: Reason = 'permit2_simulation_failed';

/**
 * The cause of a failed simulation. Every cause is checked by a second simulation, because the reads may have been
 * answered at another block.
 *
 * @returns `undefined` if the settlement succeeds now: then nothing is certain.
 * @throws ChainUnavailableError
 */
export async function diagnosePermit2(
  chain: ChainReader,
  terms: DiagnosedTerms,
  parties: Permit2Parties,
  { again }: FailedSimulation,
): Promise<Reason | undefined> {
  const found = await findPermit2Cause(chain, terms, parties);
  const repeated = await again();
  if (repeated.status === 'paid') return undefined;
  return repeated.status === 'halted' && found === UNEXPLAINED ? 'gas_limit_exceeded' : found;
}

/**
 * Reads all causes in one round trip, in the order of the reference facilitator. A used nonce is not among the causes
 * here.
 */
export async function findPermit2Cause(
  chain: ChainReader,
  { asset, amount }: DiagnosedTerms,
  { payer, proxy }: Permit2Parties,
): Promise<Reason> {
  const [permit2, balance, allowance] = await Promise.all([
    chain.call(proxyPermit2Call(proxy)),
    chain.call(balanceOfCall(asset, payer)),
    chain.call(permit2AllowanceCall(asset, payer)),
  ]);
  if (decodeAddress(permit2) === undefined) return 'permit2_proxy_not_deployed';
  if (isBelow(decodeUint(balance), amount)) return 'permit2_insufficient_balance';
  return isBelow(decodeUint(allowance), amount) ? 'permit2_allowance_required' : UNEXPLAINED;
}
