import type { Address, Hex } from 'viem';
import type { WantedTransaction } from '../rules/spending.js';
import type { DigestedTypedData } from '../rules/typed-data-digest.js';

/** A wallet whose key a provider holds. */
export interface CustodialWallet {
  /** The provider's name for it. */
  readonly id: string;
  /** Lower case. */
  readonly address: Address;
}

/**
 * Keeps the keys. Callers decide beforehand what may be signed. A key never leaves a provider; there is no export.
 *
 * Every method throws `WalletError`: `provider_refused` when the provider refused and nothing was signed,
 * `provider_unavailable` when it was not reached, `outcome_unknown` when it may have acted.
 */
export interface WalletProvider {
  readonly kind: 'local' | 'privy';
  /** Why it cannot sign now, as far as is known without a request. */
  readonly condition: ProviderCondition | undefined;
  /** @throws Error that names the setting, when the provider cannot be used at all. */
  start(): Promise<void>;
  stop(): void;
  /** The wallet of a subject, if it exists. */
  find(subject: string): Promise<CustodialWallet | undefined>;
  /**
   * The wallet of a subject, made if it does not exist: one wallet for any number of concurrent
   * calls.
   */
  create(subject: string): Promise<CustodialWallet>;
  signTypedData(wallet: CustodialWallet, typedData: DigestedTypedData, key: string): Promise<Hex>;
  /** EIP-191. */
  signMessage(wallet: CustodialWallet, message: SignableMessage, key: string): Promise<Hex>;
  /**
   * Signs and sends a transaction.
   *
   * @param key - the same key sends the same transaction, never a second one.
   * @param isRepeat - whether it may have been sent under this key; then only that one is sent again.
   * @returns its hash.
   */
  sendTransaction(
    wallet: CustodialWallet,
    wanted: WantedTransaction,
    key: string,
    isRepeat: boolean,
  ): Promise<Hex>;
}
export const WalletProvider = Symbol('WalletProvider');

/** Codes of `/health` and labels of metrics. */
export type ProviderCondition =
  'provider_unreachable' | 'provider_credentials_refused' | 'provider_answers_wrong';

/** A text, or bytes as hex. */
export type SignableMessage = string | { readonly raw: Hex };
