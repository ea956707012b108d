import type {
  Sale,
  SettlementDetails,
  SettlementView,
} from '../../../../src/settlement/model/settlement.js';
import { anAcceptedPayment } from '../../protocol/payment/accepted-payment.js';

const OPEN_SALE: Sale = {
  state: 'open',
  requester: undefined,
  soldKeyTag: undefined,
  boundKeyTag: undefined,
};

/** A claim that waits in the queue, changed as a test wants. */
export function aSettlementView(
  overrides: Partial<Omit<SettlementView, 'sale'>> & { readonly sale?: Partial<Sale> } = {},
): SettlementView {
  const { sale, ...rest } = overrides;
  return {
    id: 'claim',
    state: 'queued',
    isPaid: false,
    termsTag: 'terms',
    signedTag: 'signed',
    transaction: undefined,
    reason: undefined,
    blockNumber: undefined,
    logIndex: undefined,
    batchSize: undefined,
    isAsync: false,
    settledAmount: undefined,
    ...rest,
    sale: { ...OPEN_SALE, ...sale },
  };
}

/** The details of a claimed EIP-3009 payment. */
export function aSettlementDetails(overrides: Partial<SettlementDetails> = {}): SettlementDetails {
  const { asset, payTo, amount, authorization } = anAcceptedPayment();
  return {
    scheme: 'exact',
    method: 'eip3009',
    chainId: 56,
    token: asset,
    payer: authorization.from,
    payTo,
    amount,
    authorizationNonce: 2n ** 255n,
    deadline: 2_000_000_000n,
    hashes: [],
    blockHash: undefined,
    times: {
      arrived: 0,
      claimed: 1_700_000_000_000,
      allocated: undefined,
      included: undefined,
      finished: undefined,
    },
    ...overrides,
  };
}
