/**
 * How a payer lets tokens be moved by its signature alone. It decides what the chain executes at most
 * once, and how a use shows on the chain.
 */
export type TransferMethod = 'eip3009' | 'permit2';

/** Which action of which scheme something belongs to. */
export interface ActionName {
  /** The first scheme of this service where absent: its records never named it. */
  readonly scheme?: string;
  readonly method: TransferMethod;
}
