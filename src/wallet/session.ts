import type { Address } from 'viem';
import type { CustodialWallet } from './provider/wallet-provider.js';

/** The wallet and the rights of an authenticated request. */
export interface Session {
  /** The owner of the wallet; lower case. */
  readonly owner: Address;
  readonly wallet: CustodialWallet;
  /** `owner` may change the rules; `agent` may only act within them. */
  readonly role: 'owner' | 'agent';
  /** The token's id, or that of the grant it belongs to; never the token. */
  readonly tokenId: string;
  /** Unix seconds. */
  readonly expiresAt: number;
  /**
   * The last revocation of all tokens of the wallet before this one was issued, Unix seconds; 0 for
   * none.
   */
  readonly generation: number;
  /** Its scopes, if it has fewer than an agent. */
  readonly scopes?: ReadonlySet<string>;
}
