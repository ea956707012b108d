import type { Address } from 'viem';

/** Payees that the API keys of an owner may list and subscribe to, independent of a request. */
export interface PayeeAccess {
  /**
   * @param owner - the id of an API key, from `callerOf`.
   * @returns payees in lower case; empty if the key no longer exists.
   */
  payeesOfOwner(owner: string): ReadonlySet<Address>;

  /** Whether every key of this id with the scope `history` has the scope `admin` too. */
  isOperator(owner: string): boolean;
}

export const PayeeAccess = Symbol('PayeeAccess');
