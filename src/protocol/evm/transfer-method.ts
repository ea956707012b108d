/** The signed ways of transferring tokens for a payer. */
export type TransferMethod = 'eip3009' | 'permit2';

/**
 * A transfer method, or the method of another signed action. The method decides which id the chain executes at most
 * once, and how the chain shows it.
 */
export type ActionMethod =
  TransferMethod | 'channel-voucher' | 'channel-claim' | 'channel-settle' | 'channel-refund';

/** Scheme and action of a claim, an authorization or a record. */
export interface ActionName {
  /** Absent for the first scheme of this service, because its records never stored the name. */
  readonly scheme?: string;
  readonly method: ActionMethod;
}
