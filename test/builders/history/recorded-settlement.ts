import { hashOf } from '../../../src/protocol/payment/hash.js';
import type { RecordedSettlement } from '../../../src/settlement/model/recorded-settlement.js';
import type { SettlementState } from '../../../src/settlement/model/settlement.js';

/** The id of a settlement, made of a name. */
export const idOf = (name: string): string => hashOf(['settlement', name]);

export const CLAIMED_AT = Date.UTC(2026, 10, 21, 12, 30);

/** A settlement as the ledger has it, sold once it is paid. */
export function aRecorded(
  name: string,
  state: SettlementState = 'broadcast',
  more: Partial<RecordedSettlement> = {},
): RecordedSettlement {
  const isPaid = state === 'included' || state === 'finalized';
  const transaction = `0x${'ab'.repeat(32)}` as const;
  return {
    view: {
      id: idOf(name),
      state,
      isPaid,
      sale: {
        state: isPaid ? 'sold' : 'open',
        requester: isPaid ? 'process.1' : undefined,
        soldKeyTag: undefined,
        boundKeyTag: hashOf(['key', name]),
      },
      termsTag: hashOf(['terms', name]),
      signedTag: hashOf(['signed', name]),
      transaction,
      reason: undefined,
      blockNumber: isPaid ? 7n : undefined,
      logIndex: isPaid ? 3 : undefined,
      batchSize: isPaid ? 1 : undefined,
      isAsync: false,
      settledAmount: undefined,
    },
    details: {
      scheme: 'exact',
      method: 'eip3009',
      chainId: 56,
      token: `0x${'a1'.repeat(20)}`,
      payer: `0x${'b2'.repeat(20)}`,
      payTo: `0x${'c3'.repeat(20)}`,
      amount: 2n ** 256n - 1n,
      authorizationNonce: 2n ** 256n - 1n,
      deadline: 1_900_000_000n,
      hashes: [transaction],
      blockHash: undefined,
      times: {
        arrived: CLAIMED_AT - 5,
        claimed: CLAIMED_AT,
        allocated: CLAIMED_AT + 20,
        included: undefined,
        finished: undefined,
      },
    },
    authorizationId: hashOf(['authorization', name]),
    isAcknowledged: isPaid,
    isPinned: false,
    blockHash: isPaid ? `0x${'cd'.repeat(32)}` : undefined,
    times: {
      claimed: CLAIMED_AT,
      included: isPaid ? CLAIMED_AT + 500 : undefined,
      finished: state === 'finalized' ? CLAIMED_AT + 1500 : undefined,
    },
    ...more,
  };
}
