import type { PayerApproval, Permit2Authorization } from '../../evm/authorization.js';
import type { Encoded } from '../encoded.js';

/** @param stored - a Permit2 authorization from the ledger; additional fields of a scheme are kept. */
export function decodePermit2(stored: unknown): Permit2Authorization {
  const encoded = stored as Encoded<Permit2Authorization>;
  return {
    ...(encoded as unknown as Permit2Authorization),
    amount: BigInt(encoded.amount),
    nonce: BigInt(encoded.nonce),
    deadline: BigInt(encoded.deadline),
    witnessValidAfter: BigInt(encoded.witnessValidAfter),
    ...decodeApproval(encoded),
  };
}

export function decodeApproval({
  sponsoredPermit: permit,
  sponsoredApproval: approval,
}: Encoded<PayerApproval>): PayerApproval {
  return {
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
