/** How a payer lets tokens be moved by its signature alone. */
export type TransferMethod = 'eip3009' | 'permit2';

/**
 * The same, or another thing that is asked for by a signature. It decides what the chain executes at most once,
 * and how that shows on the chain.
 */
export type ActionMethod =
  TransferMethod | 'channel-voucher' | 'channel-claim' | 'channel-settle' | 'channel-refund';

/** Which action of which scheme something belongs to. */
export interface ActionName {
  /** The first scheme of this service where absent: its records never named it. */
  readonly scheme?: string;
  readonly method: ActionMethod;
}
