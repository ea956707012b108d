import type { Address, Hex } from 'viem';
import type { ChainView } from '../../platform/chain/chain-view.js';
import { isValidSignatureCall } from '../../protocol/evm/calls.js';
import type { CallOutcome } from '../../protocol/evm/chain-reader.js';
import type { DomainName } from '../../protocol/evm/token/token-domain.js';
import { readTokenFacts } from '../../protocol/evm/token/token-facts.js';
import {
  plainCall,
  plainTransferCall,
  type TrialSigner,
  UNKNOWN_FUNCTION,
} from '../../protocol/evm/token/token-trials.js';
import type { Offer } from './checks/offer.js';
import type { OfferFacts, PayeeKind } from './checks/offer-checks.js';

export type FactsView = Pick<
  ChainView,
  'chainId' | 'schemeContracts' | 'isContract' | 'code' | 'call' | 'callFrom'
>;

/** The code of an account with a key and delegated code (EIP-7702). */
const DELEGATED = /^0xef0100[0-9a-f]{40}$/i;
const NO_DIGEST: Hex = `0x${'11'.repeat(32)}`;
const NO_SIGNATURE: Hex = `0x${'22'.repeat(64)}1b`;
const TRANSFER_GAS = 300_000n;

/** Reads the token and the payee of an offer from the chain. @throws ChainUnavailableError */
export async function readOfferFacts(
  view: FactsView,
  offer: Offer,
  signer: TrialSigner,
): Promise<OfferFacts> {
  const { asset, payTo } = offer;
  const contracts = view.schemeContracts;
  const [isDeployed, payee] = await Promise.all([view.isContract(asset), payeeKind(view, payTo)]);
  if (!isDeployed) return { token: undefined, payee, isPayeeRefused: undefined, contracts };
  const [token, isPayeeRefused] = await Promise.all([
    readTokenFacts(view, asset, signer, namedDomain(offer)),
    isRefused(view, offer, signer.address),
  ]);
  return { token, payee, isPayeeRefused, contracts };
}

function namedDomain({ extra }: Offer): readonly DomainName[] {
  const { name, version } = extra;
  return typeof name === 'string' && typeof version === 'string' ? [{ name, version }] : [];
}

/** A contract wallet verifies signatures. A contract that answers an unknown function in the same way is no wallet. */
async function payeeKind(view: FactsView, payTo: Address): Promise<PayeeKind> {
  const code = await view.code(payTo);
  if (code === '0x' || DELEGATED.test(code)) return 'account';
  const [signature, unknown] = await Promise.all([
    view.call(isValidSignatureCall(payTo, NO_DIGEST, NO_SIGNATURE)),
    view.call(plainCall(payTo, UNKNOWN_FUNCTION)),
  ]);
  return isAlike(signature, unknown) ? 'contract' : 'wallet';
}

/** Nodes that return no revert data make all reverts look alike. */
function isAlike(one: CallOutcome, other: CallOutcome): boolean {
  if (one.status === 'halted' || other.status === 'halted') return false;
  return one.status === other.status && one.data !== undefined && one.data === other.data;
}

/** Whether the token refuses a transfer to the payee, while the same transfer to another account succeeds. */
async function isRefused(
  view: FactsView,
  { asset, payTo }: Offer,
  from: Address,
): Promise<boolean | undefined> {
  const sender = { address: from, gasPriceWei: 0n, balanceWei: 0n };
  const [toPayee, toSelf] = await Promise.all(
    [payTo, from].map((to) => view.callFrom(sender, plainTransferCall(asset, to), TRANSFER_GAS)),
  );
  if (toSelf?.status !== 'returned') return undefined;
  return toPayee?.status !== 'returned';
}
