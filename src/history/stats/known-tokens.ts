/** A token, with name and decimals if they are known. */
export interface KnownToken {
  /** CAIP-2. */
  readonly network: string;
  /** With the checksum of EIP-55. */
  readonly asset: string;
  readonly symbol?: string;
  readonly decimals?: number;
}

/** The tokens that this deployment knows. The facilitator provides them. */
export abstract class KnownTokens {
  abstract list(): readonly KnownToken[];
}
