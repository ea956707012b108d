import type { Address } from 'viem';

/** What the keys of somebody may list and hear of, also while nobody asks with one. */
export interface PayeeAccess {
  /**
   * @param owner - the id of an API key, as `callerOf` tells it.
   * @returns payees in lower case; none where there is no such key any more.
   */
  payeesOfOwner(owner: string): ReadonlySet<Address>;

  /**
   * Whether it is an operator's: every key of this id that may be told of settlements has the scope `admin` too.
   */
  isOperator(owner: string): boolean;
}

export const PayeeAccess = Symbol('PayeeAccess');
