/** A token with its name and decimals, as far as they are known. */
export interface KnownToken {
  /** CAIP-2. */
  readonly network: string;
  /** With the checksum of EIP-55. */
  readonly asset: string;
  readonly symbol?: string;
  readonly decimals?: number;
}

/** The tokens that this deployment knows, from the room that reads them. */
export abstract class KnownTokens {
  abstract list(): readonly KnownToken[];
}
