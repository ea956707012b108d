import type { Address, Hex } from 'viem';

/** The signature of a digest. */
export type Signed = readonly [digest: Hex, signature: Hex];

/** To the thread and back; the signers are in the order of what was asked. */
export interface RecoveryQuestion {
  readonly id: number;
  readonly items: readonly Signed[];
}

export interface RecoveryAnswer {
  readonly id: number;
  readonly signers: readonly (Address | undefined)[];
}
