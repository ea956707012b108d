import type { PaymentStatus } from './pay/views.js';
import type { Rule } from './rules/evaluate.js';
import type { Spending } from './rules/spending.js';
import type { WalletErrorCode } from './wallet-error.js';

/** One request to a custody provider. */
export type ProviderOperation =
  | 'find_wallet'
  | 'create_policy'
  | 'create_wallet'
  | 'sign_typed_data'
  | 'sign_message'
  | 'sign_transaction';

export type ProviderOutcome =
  | 'ok'
  | 'refused'
  | 'policy_violation'
  | 'credentials_refused'
  | 'conflict'
  | 'rate_limited'
  | 'server_error'
  | 'timeout'
  | 'unreachable'
  | 'wrong_answer';

/** The kinds of signing requests. */
export type SigningKind =
  | 'payment_pay'
  | 'eth_signTypedData_v4'
  | 'personal_sign'
  | 'eth_sendTransaction'
  | 'hub_request'
  | 'hub_link';

/** Observes the wallet's work. It must not throw, and must not take long. */
export interface WalletObserver {
  /** `rule` is the rule that refused; absent when it was allowed. */
  decided(event: { readonly what: SigningKind; readonly rule?: Rule }): void;
  /** A purchase was answered, or refused with a code. */
  bought(event: { readonly outcome: PaymentStatus | WalletErrorCode | 'failed' }): void;
  /** The budget was charged, or the chain has shown the outcome of a charge. */
  counted(event: {
    readonly step: 'reserved' | 'spent' | 'released';
    readonly spending: Spending;
  }): void;
  providerCalled(event: {
    readonly operation: ProviderOperation;
    readonly outcome: ProviderOutcome;
    readonly durationMs: number;
  }): void;
}
export const WalletObserver = Symbol('WalletObserver');
