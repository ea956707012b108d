import type { Address } from 'viem';

/** What the keys of an owner may list and subscribe to, also without a request. */
export interface PayeeAccess {
  /**
   * @param owner - the id of an API key, as `callerOf` tells it.
   * @returns payees in lower case; none where there is no such key any more.
   */
  payeesOfOwner(owner: string): ReadonlySet<Address>;

  /**
   * Whether it is an operator's: every key of this id that may read settlements has the scope
   * `admin` too.
   */
  isOperator(owner: string): boolean;
}

export const PayeeAccess = Symbol('PayeeAccess');
