/**
 * How a payer lets tokens be moved by its signature alone. It decides what the chain executes at most
 * once, and how a use shows on the chain.
 */
export type TransferMethod = 'eip3009' | 'permit2';
