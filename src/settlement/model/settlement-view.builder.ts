import type { Sale, SettlementView } from './settlement.js';

export const OPEN_SALE: Sale = {
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
    ...{ termsTag: 'terms', signedTag: 'signed' },
    ...{ transaction: undefined, reason: undefined },
    ...{ blockNumber: undefined, logIndex: undefined, batchSize: undefined },
    isAsync: false,
    ...rest,
    sale: { ...OPEN_SALE, ...sale },
  };
}
