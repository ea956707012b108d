import type { Hex } from 'viem';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import { hashOf } from '../../protocol/payment/hash.js';
import type { PaymentIdentity } from '../../protocol/payment/identity.js';
import type { Payment } from '../../protocol/payment/payment.js';
import type { Requester } from '../../settlement/ledger/requester.js';
import type { ClaimRef } from '../../settlement/ledger/settlement-store.js';
import type { Finality } from '../../settlement/model/settlement.js';
import type { KeyBinding } from './key-binding.js';
import type { Connection } from './requester-wait.js';
import type { SettleAnswer, SettleAnswers } from './settle-answer.js';

export interface SettleRequest {
  readonly payment: Payment;
  /** Tag of the idempotency key within its scope, or empty; see {@link keyTagOf}. */
  readonly keyTag: string;
  /** Tag of the buyer's label within the same scope, or empty; see {@link labelTagOf}. */
  readonly labelTag?: string;
  /** The credentials of the requester, as hashes; see `credentialsOf`. */
  readonly credentials: readonly string[];
  /** `Prefer: respond-async`. */
  readonly isAsync: boolean;
  readonly finality: Finality;
  /** Milliseconds since the epoch of the request's first byte. */
  readonly arrivedAt: number;
  readonly connection: Connection;
  /** Called with the name of a claim before it is made. It must not block, and the claim may never be made. */
  readonly beforeClaim?: (ref: ClaimRef) => void;
}

/** The scope of keys: the API key if there is one, otherwise payee and payer, never the caller's address. */
export function keyScope(
  caller: string | undefined,
  { payTo, payer }: { readonly payTo: string; readonly payer: string },
): readonly string[] {
  return caller === undefined ? [payTo, payer] : ['api-key', caller];
}

export function keyTagOf(key: string | undefined, scope: readonly string[]): string {
  return key === undefined || key === '' ? '' : hashOf(['idempotency', ...scope, key]);
}

/** A buyer's label has the scope of an idempotency key, but is never taken for one. */
export function labelTagOf(label: string | undefined, scope: readonly string[]): string {
  return label === undefined ? '' : hashOf(['label', ...scope, label]);
}

/** One request on its way through the service. */
export interface SettleContext {
  readonly request: SettleRequest;
  /** `undefined` for a claim that no wallet can have signed. */
  readonly identity: PaymentIdentity | undefined;
  readonly answers: SettleAnswers;
  readonly requester: Requester;
  readonly chain: EvmChain;
  /**
   * Milliseconds since the epoch at which the request is answered with what is known; earlier after a shutdown has
   * begun.
   */
  readonly deadlineAt: () => number;
}

/** A request whose payment has an id, by which the ledger can be read. */
export interface NamedContext extends SettleContext {
  readonly identity: PaymentIdentity;
  readonly key: KeyBinding;
}

/** A claim that a request made or joined, and that the ledger no longer has. */
export interface LostClaimRef {
  readonly ref: ClaimRef;
  /** A transaction of the claim that this process knows. */
  readonly hash: Hex | undefined;
}

/** The result of one round: an answer, a change in the ledger that needs another round, or a lost claim. */
export type Round =
  { readonly answer: SettleAnswer | undefined } | { readonly lost: LostClaimRef } | 'again';
