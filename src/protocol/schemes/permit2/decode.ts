import type { Permit2Authorization } from '../../evm/authorization.js';
import type { Encoded } from '../encoded.js';

/** @param stored - a Permit2 authorization from the ledger; what a scheme adds to it stays as it is. */
export function decodePermit2(stored: unknown): Permit2Authorization {
  const { sponsoredApproval: approval, ...encoded } = stored as Encoded<Permit2Authorization>;
  const { sponsoredPermit: permit } = encoded;
  return {
    ...encoded,
    amount: BigInt(encoded.amount),
    nonce: BigInt(encoded.nonce),
    deadline: BigInt(encoded.deadline),
    witnessValidAfter: BigInt(encoded.witnessValidAfter),
    sponsoredPermit: permit && {
      ...permit,
      value: BigInt(permit.value),
      deadline: BigInt(permit.deadline),
    },
    ...(approval && {
      sponsoredApproval: {
        ...approval,
        gas: BigInt(approval.gas),
        maxFeePerGas: BigInt(approval.maxFeePerGas),
      },
    }),
  };
}
