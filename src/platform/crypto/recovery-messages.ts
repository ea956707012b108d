import type { Address, Hex } from 'viem';

/** The signature of a digest. */
export type Signed = readonly [digest: Hex, signature: Hex];

/** Messages to the thread and back. The signers are in the order of the signatures. */
export interface RecoveryQuestion {
  readonly id: number;
  readonly items: readonly Signed[];
}

export interface RecoveryAnswer {
  readonly id: number;
  readonly signers: readonly (Address | undefined)[];
}
