import type { Address, Hex } from 'viem';
import type { Finding } from '../diagnosis/finding.js';
import type { Authorization } from '../evm/authorization.js';
import type { Call } from '../evm/calls.js';
import type { CallOutcome, ChainReader, Effect, FailedEffect } from '../evm/chain-reader.js';
import type { ContractName, SchemeContracts } from '../evm/contracts.js';
import type { PaidLog, ReceiptLog, Transfer } from '../evm/logs.js';
import type { PayerTransaction } from '../evm/payer-transaction.js';
import type { AcceptedPayment, InFlightKind } from '../payment/accepted-payment.js';
import type { HashPart } from '../payment/hash.js';
import type { Claim, Payment, Purpose, Requirements } from '../payment/payment.js';
import type { JsonObject } from '../payment/wire-values.js';
import type { Reason } from '../reasons.js';
import type { ActionKind, LogTopics, PresentedAuthorization } from './authorization-method.js';
import type { Verdict, VerifyContext, VerifyScope } from './verdict.js';

/**
 * A payment scheme of x402. Everything that differs from scheme to scheme is behind this interface; the
 * engine and the HTTP API ask `registry.ts` and name no scheme.
 */
export interface Scheme {
  /** As requirements name it. */
  readonly name: string;
  /** Protocol versions that have it. */
  readonly versions: readonly (1 | 2)[];
  /** Extensions of the protocol it understands, as `/supported` lists them. */
  readonly extensions: readonly string[];
  /** Those that cost the operator more than a settlement: listed where it pays for them. */
  readonly sponsoredExtensions?: readonly string[];
  /** The actions of the scheme: at most one for each method. */
  readonly actions: readonly Action[];
  /** What it can be asked about where nothing is settled by it. */
  readonly judges?: readonly Judge[];
  /**
   * Reads what was sent for the seller's offer; `undefined` where a field is missing or of the wrong type.
   *
   * @param purpose - a claim to settle has to be one of an action.
   */
  readClaim(
    payload: JsonObject,
    version: 1 | 2,
    requirements: JsonObject,
    purpose: Purpose,
  ): Claim | undefined;
  /** Why a payload is refused that it cannot read; `invalid_payload` where it does not say. */
  unreadable?(payload: JsonObject, purpose: Purpose): Reason;
  /** Reads the amount that is required, where not every integer will do. */
  readAmount?(sent: unknown): bigint | undefined;
  /** What a claim itself says of amount (atomic units), token and payee: the requirements may say another. */
  ownTermsOf?(claim: Claim): Partial<Pick<Requirements, 'amount' | 'asset' | 'payTo'>>;
  /** The payer exactly as sent, in whatever state the rest of the payload is. */
  payerAsSent(inner: JsonObject): unknown;
  /** Contracts without which a chain does not have it. */
  readonly contracts: readonly ContractName[];
  /**
   * `extra` of its kinds in `/supported`; a kind that needs one and has none is not listed.
   *
   * @param signers - the accounts of the chain's lanes, those that serve best first.
   */
  kindExtra?(signers: readonly Address[]): JsonObject | undefined;
}

/** The terms that a payer signed, as the parts of names; see `PaymentIdentity`. */
export interface SignedParts {
  readonly key: readonly HashPart[];
  readonly terms: readonly HashPart[];
  /** The part of the signature that the payer made; absent for all of it. */
  readonly signature?: HashPart;
  /** The signature domain, where requests may name another one. */
  readonly domain: readonly HashPart[];
}

/** The facts that an explanation may use beside the payment. */
export interface ExplainFacts {
  /** Unix seconds. */
  readonly now: number;
}

/** The payment a call is made for. Atomic units. */
export type CallTerms = Pick<AcceptedPayment, 'asset' | 'payTo' | 'amount'>;

/** The requirements, as far as a diagnosis compares them with the chain. */
export type DiagnosedTerms = Pick<Requirements, 'asset' | 'amount' | 'tokenName' | 'tokenVersion'>;

/** A simulation that failed, and the same once more. */
export interface FailedSimulation {
  readonly failure: FailedEffect;
  readonly again: () => Promise<Effect>;
}

/** Reasons for what the engine finds out by itself. */
export interface ActionReasons {
  /** The chain has executed or cancelled the authorization. */
  readonly used: Reason;
  readonly expired: Reason;
  readonly insufficientBalance: Reason;
  /** The payer's allowance, or its one permit, is used up by its payments in flight. */
  readonly insufficientAllowance: Reason;
  /** It would not pay, and nothing says why. */
  readonly simulationFailed: Reason;
  /** It was mined and reverted, and nothing says why. */
  readonly transactionFailed: Reason;
  /** It was mined and succeeded, and left no evidence of the payment. */
  readonly noEvidence: Reason;
}

/** A transaction that must be mined before a payment can be sent. */
export interface Preparation {
  readonly transaction: PayerTransaction;
  /** It is done once this call returns a number of at least so much. */
  readonly proof: Call;
  readonly least: bigint;
  /** Said where it never comes to be. */
  readonly failed: Reason;
}

/** Whether a refusal may be that of a payment which the chain has executed. */
export type HiddenUse = 'yes' | 'if_payer_has_code' | 'no';

/** How a mined transaction shows that it has done what it was sent for. */
export type Evidence<A extends Authorization> = LogEvidence<A> | StateEvidence<A>;

export interface LogEvidence<A extends Authorization> {
  readonly by: 'logs';
  /** Whether the log names the authorization: else two like payments of a payer leave the same. */
  readonly isNamed: boolean;
  /**
   * The log by which it is done; `undefined` where it is not.
   *
   * @param transfer - what it should have brought about.
   * @param taken - indices of logs that stand for others.
   */
  logOf(
    transfer: Transfer,
    authorization: A,
    logs: readonly ReceiptLog[],
    taken: ReadonlySet<number>,
  ): ReceiptLog | undefined;
}

/** Where a transaction that did nothing succeeds too, and leaves no log: the contract is asked at its block. */
export interface StateEvidence<A extends Authorization> {
  readonly by: 'state';
  callOf(authorization: A): Call;
  /** `undefined` where the contract does not answer the question. */
  isDone(outcome: CallOutcome, authorization: A): boolean | undefined;
  /** Whether logs of a transaction that succeeded show it too, whatever the state; absent where none do. */
  isShownIn?(logs: readonly ReceiptLog[], authorization: A): boolean;
}

/** An account that is paid in the place of the payee. */
export interface PaidAccount {
  readonly account: Address;
  /** What the account was paid for; a transfer to it does not say that. */
  readonly shownBy: PaidLog;
}

/** Details of an action that is done. */
export interface Told {
  /** Atomic units. */
  readonly amount?: bigint;
  readonly extra?: JsonObject;
}

/** Logs of one contract, among which the transaction is that did an action. */
export interface LogTrace {
  readonly address: Address;
  readonly topics: LogTopics;
  /**
   * How far the contract is beyond the action: 1 after it, 0 where it would be next. The block that takes it from 0 to 1
   * has the transaction.
   *
   * @returns `undefined` where the contract does not answer as it should.
   * @throws ChainUnavailableError
   */
  readonly stepsBeyond: (chain: Pick<ChainReader, 'call'>) => Promise<bigint | undefined>;
}

/**
 * Judges one kind of request. It answers questions and changes nothing. What is optional is left out by one that
 * is like most: it is a payment, that is sold once, in full, by any lane.
 */
export interface Judge<C extends Claim = Claim, A extends Authorization = Authorization> {
  readonly method: Pick<ActionKind, 'name'>;
  readonly reasons: ActionReasons;

  /**
   * Whether each request for it gets success once it is done. Otherwise one request alone gets the sale, as the goods
   * are delivered once.
   */
  readonly isRepeatable?: boolean;
  /**
   * Tokens and those who get them, where it is no payment of the required amount: then that is not compared with the
   * least amount of the token.
   */
  partiesOf?(claim: C): readonly Pick<Requirements, 'asset' | 'payTo'>[];
  /** Where its transfer goes, where that is not to the payee. */
  paysInto?(signed: C | A): PaidAccount;
  /**
   * The same claim with what the chain alone can say of it, where that is part of its identity.
   *
   * @throws ChainUnavailableError
   */
  completed?(claim: C, chain: ChainReader): Promise<C | Reason>;

  /** `undefined` for a claim that no wallet can have signed. */
  signedPartsOf(claim: C, requirements: Requirements): SignedParts | undefined;
  /**
   * Judges a payment; changes nothing.
   *
   * @throws ChainUnavailableError when the chain cannot be asked.
   */
  verify(payment: Payment, claim: C, context: VerifyContext, scope: VerifyScope): Promise<Verdict>;
  /**
   * What a verify answer says of a payment that is under way or done.
   *
   * @throws ChainUnavailableError
   */
  extraOf?(claim: C, chain: ChainReader): Promise<JsonObject | undefined>;
  /**
   * The first broken one of the checks that need neither the chain, nor the clock, nor the signature. For
   * payments known to be signed.
   */
  termsMismatch(
    payment: Payment,
    claim: C,
    chain: Pick<ChainReader, 'schemeContracts'>,
  ): Reason | undefined;
  /** Where a payment is wrong that was refused for this reason; `undefined` where no field of it is. */
  explain?(reason: Reason, payment: Payment, claim: C, facts: ExplainFacts): Finding | undefined;
  /** Whether its checks may say this of a payment because it was executed. */
  mayHideUse(reason: Reason): HiddenUse;
  /** The only account that may send it; absent where any lane may. */
  soleSenderOf?(signed: C | A): Address;
  /**
   * What transactions that fail after a clean simulation are held against; absent where that is its payer. Where the payer
   * has not signed it, anybody could have that payer suspended.
   */
  blamedFor?(signed: C | A): string;
  /**
   * Whether less than what was signed may be settled. Then the first settle binds the amount, and the
   * answers say it.
   */
  readonly settlesLess?: boolean;
  /** Whether an amount is settled by the record alone: there is nothing to send. */
  needsNoTransaction?(amount: bigint): boolean;
}

/**
 * One thing a scheme can be asked to settle, by one method; see {@link Judge}. What is optional is left out by an
 * action whose transaction is like most: it comes at the usual price.
 */
export interface Action<
  C extends Claim = Claim,
  A extends Authorization = Authorization,
> extends Judge<C, A> {
  readonly method: ActionKind;

  /**
   * What a settle answer says of it once it is done; absent where it says no more than that.
   *
   * @param receipt - of its transaction; `undefined` where that is not known.
   * @param chain - at the block of that, where the node still has it, else at the newest block.
   * @returns `undefined` where the contract does not answer as it should, or another transaction did it.
   * @throws ChainUnavailableError
   */
  told?(
    claim: C,
    receipt: { readonly isSuccess: boolean; readonly logs: readonly ReceiptLog[] } | undefined,
    chain: Pick<ChainReader, 'call' | 'chainId'>,
  ): Promise<Told | undefined>;
  /** Whether a success is answered without all of these details where they cannot be read. */
  readonly mayBeUntold?: boolean;
  /** Where its transaction is found, if others may have sent that. */
  traceOf?(claim: C, chainId: number): LogTrace;

  // ---------------------------------------------------------------- its authorization

  /** The same terms as {@link signedPartsOf} names. */
  termsOf(authorization: A): readonly HashPart[];
  nonceOf(authorization: A): bigint;
  /** Unix seconds from which on, or after which, the chain does not accept it any more. */
  deadlineOf(authorization: A): bigint;
  /** Whether a block of this time, and any later one, refuses it. */
  isExpiredAt(authorization: A, blockTime: bigint): boolean;
  /** @param stored - an authorization of its own from the ledger, see `encoded.ts`. */
  decode(stored: unknown): A;

  // ---------------------------------------------------------------- its payer

  /** The kind of funds that it reserves while it is in flight. */
  inFlightKindOf(authorization: A): InFlightKind;
  /** The call that reads the payer's allowance for such payments; `undefined` where they need none. */
  allowanceCall?(authorization: A, asset: Address): Call | undefined;

  // ---------------------------------------------------------------- sending

  /** `undefined`, as where it is absent: the payment can be sent as it is. */
  preparationOf?(authorization: A, terms: CallTerms): Preparation | undefined;
  callOf(authorization: A, terms: CallTerms): Call;
  /** The transfer of tokens it brings about: what a simulation proves, and what logs show. */
  transferOf(authorization: A, terms: CallTerms): Transfer;
  /**
   * Whose code its call may run beside that of the token: what burns gas is held against that account. Absent where it is
   * `from`.
   */
  runsCodeOf?(authorization: A): Address;
  /**
   * Gas that one settlement may cost, where it is not the usual.
   *
   * @param usual - what the operator allows for one payment.
   */
  gasCapOf?(authorization: A, usual: bigint): bigint;
  /** Whether it may be one call of a transaction that carries several. */
  mayShare(authorization: A): boolean;
  /** A contract that its call runs because the payload names it; `undefined` where the payload names no contract. */
  chosenContractOf?(authorization: A): Address | undefined;
  /** The same where the payer has code by now; absent where that makes no difference. */
  ofDeployedPayer?(authorization: A): A;
  /** The facts that decide its gas, beside token, method and the payer's kind of account. */
  gasProfileOf(authorization: A): string;
  /**
   * Why a settlement that failed in a simulation would not pay.
   *
   * @returns `undefined` when it succeeds now: nothing is known for certain.
   * @throws ChainUnavailableError
   */
  diagnose(
    chain: ChainReader,
    terms: DiagnosedTerms,
    authorization: A,
    failed: FailedSimulation,
  ): Promise<Reason | undefined>;
  /** Whether a diagnosis tells a used authorization from other causes by itself. */
  readonly diagnosesUse: boolean;
  /** The reason of known revert data. */
  reasonOfRevert(data: Hex | undefined): Reason | undefined;

  // ---------------------------------------------------------------- evidence

  readonly evidence: Evidence<A>;
  /** Whether any sender's transaction counts as success; otherwise one of this facilitator's lanes must be its cause. */
  readonly isDoneByAnybody?: boolean;
  /** Selectors of the functions that present its authorizations, without prefix. */
  readonly selectors: readonly string[];
  /**
   * Reads an authorization from a call of one of these functions.
   *
   * @param target - lower case.
   * @throws where the calldata does not decode.
   */
  presentedIn(
    target: Address,
    callData: Hex,
    contracts: SchemeContracts,
  ): PresentedAuthorization | undefined;
}
