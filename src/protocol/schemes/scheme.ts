import type { Address, Hex } from 'viem';
import type { Finding } from '../diagnosis/finding.js';
import type { Authorization } from '../evm/authorization.js';
import type { Call } from '../evm/calls.js';
import type {
  CallOutcome,
  ChainReader,
  Effect,
  FailedEffect,
  StateReader,
} from '../evm/chain-reader.js';
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
 * A payment scheme of x402. All differences between schemes are behind this interface. The engine and the HTTP API
 * use `registry.ts` and name no scheme.
 */
export interface Scheme {
  /** The name in requirements. */
  readonly name: string;
  /** Protocol versions with this scheme. */
  readonly versions: readonly (1 | 2)[];
  /** Supported extensions of the protocol, as listed in `/supported`. */
  readonly extensions: readonly string[];
  /** Extensions that cost the operator more than a settlement. They are listed only if the operator pays for them. */
  readonly sponsoredExtensions?: readonly string[];
  /** The actions of the scheme, at most one per method. */
  readonly actions: readonly Action[];
  /** Requests that can be verified, but not settled. */
  readonly verifyOnly?: readonly ClaimRules[];
  /**
   * Reads the payload for the offer of the seller; `undefined` if a field is missing or of the wrong type.
   *
   * @param purpose - a claim to settle must belong to an action.
   */
  readClaim(
    payload: JsonObject,
    version: 1 | 2,
    requirements: JsonObject,
    purpose: Purpose,
  ): Claim | undefined;
  /** The reason for an unreadable payload; `invalid_payload` by default. */
  unreadable?(payload: JsonObject, purpose: Purpose): Reason;
  /** Reads the required amount, if the scheme restricts it beyond an integer. */
  readAmount?(sent: unknown): bigint | undefined;
  /** Amount (atomic units), token and payee as the claim states them, which may differ from the requirements. */
  ownTermsOf?(claim: Claim): Partial<Pick<Requirements, 'amount' | 'asset' | 'payTo'>>;
  /** The payer exactly as sent, also if the rest of the payload is malformed. */
  payerAsSent(inner: JsonObject): unknown;
  /** The events of channels in logs of a receipt; absent for schemes without channels. */
  channelEventsIn?(logs: readonly ReceiptLog[]): readonly ChannelEvent[];
  /** Contracts that a chain needs for this scheme. */
  readonly contracts: readonly ContractName[];
  /**
   * `extra` of a kind in `/supported`. A kind that needs `extra` and has none is not listed.
   *
   * @param signers - the accounts of the lanes of the chain, the preferred ones first.
   */
  kindExtra?(signers: readonly Address[]): JsonObject | undefined;
}

/** The terms that a payer signed, as parts of ids; see `PaymentIdentity`. */
export interface SignedParts {
  readonly key: readonly HashPart[];
  readonly terms: readonly HashPart[];
  /** The part of the signature that the payer made; the whole signature if absent. */
  readonly signature?: HashPart;
  /** The signature domain, if requests may name different domains. */
  readonly domain: readonly HashPart[];
}

/** Facts for an explanation, besides the payment. */
export interface ExplainFacts {
  /** Unix seconds. */
  readonly now: number;
}

/** The payment of a call. Amounts in atomic units. */
export type CallTerms = Pick<AcceptedPayment, 'asset' | 'payTo' | 'amount'>;

/** The requirements that a diagnosis compares with the chain. */
export type DiagnosedTerms = Pick<Requirements, 'asset' | 'amount' | 'tokenName' | 'tokenVersion'>;

/** A failed simulation, and a function that repeats it. */
export interface FailedSimulation {
  readonly failure: FailedEffect;
  readonly again: () => Promise<Effect>;
}

/** Reasons for the results that the engine finds by itself. */
export interface ActionReasons {
  /** The chain has executed or cancelled the authorization. */
  readonly used: Reason;
  readonly expired: Reason;
  readonly insufficientBalance: Reason;
  /** The allowance of the payer, or the one sponsored permit, is reserved by payments in flight. */
  readonly insufficientAllowance: Reason;
  /** The settlement would not pay, for an unknown cause. */
  readonly simulationFailed: Reason;
  /** The transaction was mined and reverted, for an unknown cause. */
  readonly transactionFailed: Reason;
  /** The transaction was mined and succeeded, without evidence of the payment. */
  readonly noEvidence: Reason;
}

/** A transaction that must be mined before a payment can be sent. */
export interface Preparation {
  readonly transaction: PayerTransaction;
  /** The preparation is done as soon as this call returns at least this number. */
  readonly proof: Call;
  readonly least: bigint;
  /** The reason if the preparation is never done. */
  readonly failed: Reason;
}

/** Whether a refusal can be the result of an execution of this very payment. */
export type UsePossibility = 'yes' | 'if_payer_has_code' | 'no';

/** How a mined transaction proves its action. */
export type Evidence<A extends Authorization> = LogEvidence<A> | StateEvidence<A>;

export interface LogEvidence<A extends Authorization> {
  readonly by: 'logs';
  /** Whether the log names the authorization. Otherwise two equal payments of a payer leave equal logs. */
  readonly isNamed: boolean;
  /**
   * The log that proves the action; `undefined` without one.
   *
   * @param transfer - the expected transfer.
   * @param taken - indices of logs that prove other settlements.
   */
  logOf(
    transfer: Transfer,
    authorization: A,
    logs: readonly ReceiptLog[],
    taken: ReadonlySet<number>,
  ): ReceiptLog | undefined;
}

/**
 * For actions whose transaction can succeed without an effect and without a log: the contract is read at the block of
 * the transaction.
 */
export interface StateEvidence<A extends Authorization> {
  readonly by: 'state';
  callOf(authorization: A): Call;
  /** `undefined` if the contract does not answer the call. */
  isDone(outcome: CallOutcome, authorization: A): boolean | undefined;
  /** Whether logs of a successful transaction prove the action too, whatever the state; absent if no logs do. */
  isShownIn?(logs: readonly ReceiptLog[], authorization: A): boolean;
}

/** Finds the cause of a transaction that failed after a successful simulation. */
export interface Culprits<A extends Authorization> {
  /** The possible causes, by the authorization alone. */
  suspects(authorization: A): readonly string[];
  /**
   * The causes that the chain shows; the possible ones where it shows none.
   *
   * @throws ChainUnavailableError
   */
  among(authorization: A, block: BlockOfFailure): Promise<readonly string[]>;
}

/** The chain before and after the block of a failed transaction. */
export interface BlockOfFailure {
  readonly before: StateReader;
  readonly after: StateReader;
  /** Gas limit of one call to a contract of a payer or seller. */
  readonly maxGas: bigint;
}

/** The actions on a channel that a buyer has funded; see `batch-settlement`. */
export const CHANNEL_ACTIONS = ['deposit', 'claim', 'settle', 'refund'] as const;
export type ChannelAction = (typeof CHANNEL_ACTIONS)[number];

/** A movement of money: into a channel, from it to a receiver, to the account of the receiver, or back to the payer. */
export interface ChannelEvent {
  readonly event: 'Deposited' | 'Claimed' | 'Settled' | 'Refunded';
  /** Absent for a payout, which covers all channels of a receiver and token. */
  readonly channelId?: Hex;
  /** Atomic units. */
  readonly amount: bigint;
  readonly logIndex: number;
}

/** An account that is paid instead of the payee. */
export interface PaidAccount {
  readonly account: Address;
  /** The log that proves the purpose of the payment, which a transfer to the account does not prove. */
  readonly shownBy: PaidLog;
}

/** Details of a completed action. */
export interface ActionDetails {
  /** Atomic units. */
  readonly amount?: bigint;
  readonly extra?: JsonObject;
}

/** Logs of one contract that include the log of the transaction that completed an action. */
export interface LogTrace {
  readonly address: Address;
  readonly topics: LogTopics;
  /**
   * The number of steps of the contract beyond the action: 0 if the action would be next, 1 after it. The transaction
   * is in the block that changes the number from 0 to 1.
   *
   * @returns `undefined` if the contract does not answer correctly.
   * @throws ChainUnavailableError
   */
  readonly stepsBeyond: (chain: Pick<ChainReader, 'call'>) => Promise<bigint | undefined>;
  /** Present if other actions leave the same log. Calldata that another contract builds is not visible. */
  readonly presents?: (input: Hex) => Presented;
}

/** What calldata requests: the action, or another one for which the contract takes the same step. */
export type Presented = 'this' | 'another' | 'nothing';

/**
 * The rules for one kind of request, without side effects. A kind omits an optional member if it behaves like most
 * payments: sold once, in full, by any lane.
 */
export interface ClaimRules<C extends Claim = Claim, A extends Authorization = Authorization> {
  readonly method: Pick<ActionKind, 'name'>;
  /** Absent where nothing is settled. */
  readonly reasons?: ActionReasons;
  /** Absent for a payment of one request. */
  readonly channelAction?: ChannelAction;

  /**
   * Whether every request gets success after the action is done. Otherwise only one request gets the sale, because
   * goods are delivered once.
   */
  readonly isRepeatable?: boolean;
  /**
   * The tokens and their receivers, for an action that does not pay the required amount. Such an action is not
   * compared with the minimum amount of the token.
   */
  partiesOf?(claim: C): readonly Pick<Requirements, 'asset' | 'payTo'>[];
  /** The receiver of the transfer, if not the payee. */
  paysInto?(signed: C | A): PaidAccount;
  /**
   * The claim with the facts that only the chain has, if its identity depends on them.
   *
   * @throws ChainUnavailableError
   */
  completed?(claim: C, chain: ChainReader): Promise<C | Reason>;

  /** `undefined` for a claim that no wallet can have signed. */
  signedPartsOf(claim: C, requirements: Requirements): SignedParts | undefined;
  /**
   * Verifies a payment without side effects.
   *
   * @throws ChainUnavailableError if the chain does not answer.
   */
  verify(payment: Payment, claim: C, context: VerifyContext, scope: VerifyScope): Promise<Verdict>;
  /**
   * Extra fields of a verify answer for a payment that is in progress or done.
   *
   * @throws ChainUnavailableError
   */
  extraOf?(claim: C, chain: ChainReader): Promise<JsonObject | undefined>;
  /**
   * The first failed check of those that need neither chain, clock nor signature. For payments whose signature is
   * known to be valid.
   */
  termsMismatch(
    payment: Payment,
    claim: C,
    chain: Pick<ChainReader, 'schemeContracts'>,
  ): Reason | undefined;
  /** The place of the fault in the request; `undefined` if no field is at fault. */
  explain?(reason: Reason, payment: Payment, claim: C, facts: ExplainFacts): Finding | undefined;
  /** Whether this refusal can be the result of an execution of the payment. */
  mayMeanUsed(reason: Reason): UsePossibility;
  /** The only account that may send it; absent if any lane may. */
  soleSenderOf?(signed: C | A): Address;
  /**
   * The names that are suspended if its transactions fail repeatedly after a successful simulation; the payer if
   * absent. If the payer has not signed the request, another name is needed, because otherwise anyone could get that
   * payer suspended.
   */
  blamedFor?(signed: C | A): readonly string[];
  /**
   * Whether less than the signed amount may be settled. The first settle then binds the amount, and the answers
   * contain it.
   */
  readonly settlesLess?: boolean;
  /** Whether an amount is settled by the record alone, without a transaction. */
  needsNoTransaction?(amount: bigint): boolean;
}

/**
 * One kind of request to settle, by one method; see {@link ClaimRules}. An action omits an optional member if its
 * transaction is like most, at the usual price.
 */
export interface Action<
  C extends Claim = Claim,
  A extends Authorization = Authorization,
> extends ClaimRules<C, A> {
  readonly method: ActionKind;
  readonly reasons: ActionReasons;

  /**
   * Details in a settle answer after the action is done; absent if the answer has none.
   *
   * @param receipt - of the transaction; `undefined` if the transaction is not known.
   * @param chain - at the block of the transaction if the node still has its state, otherwise at the newest block.
   * @returns `undefined` if the contract does not answer correctly, or another transaction did the action.
   * @throws ChainUnavailableError
   */
  detailsOf?(
    claim: C,
    receipt: { readonly isSuccess: boolean; readonly logs: readonly ReceiptLog[] } | undefined,
    chain: Pick<ChainReader, 'call' | 'chainId'>,
  ): Promise<ActionDetails | undefined>;
  /** Whether a success may be answered without these details if they cannot be read. */
  readonly mayOmitDetails?: boolean;
  /** How to find the transaction, if other senders may have sent it. */
  traceOf?(claim: C, chainId: number): LogTrace;

  // ---------------------------------------------------------------- its authorization

  /** The same terms as in {@link signedPartsOf}. */
  termsOf(authorization: A): readonly HashPart[];
  nonceOf(authorization: A): bigint;
  /** Unix seconds of the end of validity on the chain. The method decides whether this second is included. */
  deadlineOf(authorization: A): bigint;
  /** Whether a block with this time, and any later block, refuses the authorization. */
  isExpiredAt(authorization: A, blockTime: bigint): boolean;
  /** @param stored - an authorization of this action from the ledger; see `encoded.ts`. */
  decode(stored: unknown): A;

  // ---------------------------------------------------------------- its payer

  /** The kind of funds that the payment reserves while it is in flight. */
  inFlightKindOf(authorization: A): InFlightKind;
  /** The call that reads the allowance of the payer; `undefined` if the payment needs no allowance. */
  allowanceCall?(authorization: A, asset: Address): Call | undefined;

  // ---------------------------------------------------------------- sending

  /** The preparation before the payment; `undefined` or absent if none is needed. */
  preparationOf?(authorization: A, terms: CallTerms): Preparation | undefined;
  callOf(authorization: A, terms: CallTerms): Call;
  /** The transfer of tokens that a simulation must prove and that logs show. */
  transferOf(authorization: A, terms: CallTerms): Transfer;
  /**
   * The account whose code the call may run besides the code of the token, and which is suspended if the code burns
   * gas. `from` if absent.
   */
  runsCodeOf?(authorization: A): Address;
  /**
   * The account whose gas budget and place in the queue are used, if the payee does not profit by the action;
   * otherwise anyone could exhaust those of a payee. The payee if absent.
   */
  chargedTo?(authorization: A): Address;
  /**
   * Maximum gas of one settlement, if not the usual one.
   *
   * @param usual - the operator's limit for one payment.
   */
  gasCapOf?(authorization: A, usual: bigint): bigint;
  /** Whether the call may share a transaction with other calls. */
  mayShare(authorization: A): boolean;
  /**
   * Channels whose claimed total it raises. Of two such calls in flight each passes its simulation, and one of them may
   * bring nothing for its gas.
   */
  raisedBy?(authorization: A): readonly Hex[];
  /** A contract that the call runs because the payload names it; `undefined` if the payload names none. */
  chosenContractOf?(authorization: A): Address | undefined;
  /** The same authorization for a payer that has code by now; absent if code makes no difference. */
  ofDeployedPayer?(authorization: A): A;
  /** The facts that determine its gas, besides token, method and the kind of account of the payer. */
  gasProfileOf(authorization: A): string;
  /**
   * The cause of a failed simulation.
   *
   * @returns `undefined` if the settlement succeeds now: then nothing is certain.
   * @throws ChainUnavailableError
   */
  diagnose(
    chain: ChainReader,
    terms: DiagnosedTerms,
    authorization: A,
    failed: FailedSimulation,
  ): Promise<Reason | undefined>;
  /** Whether a diagnosis distinguishes a used authorization from other causes. */
  readonly diagnosesUse: boolean;
  /** The reason for known revert data. */
  reasonOfRevert(data: Hex | undefined): Reason | undefined;

  // ---------------------------------------------------------------- evidence

  readonly evidence: Evidence<A>;
  /**
   * Whether a transaction of any sender counts as success. Otherwise it must be caused by a lane of this facilitator.
   */
  readonly isDoneByAnybody?: boolean;
  /** Selects the names of `blamedFor` that caused a failure; all names if absent. */
  readonly culprits?: Culprits<A>;
  /** Selectors of the functions that present its authorizations, without prefix. */
  readonly selectors: readonly string[];
  /**
   * Reads an authorization from a call of one of these functions.
   *
   * @param target - lower case.
   * @throws if the calldata cannot be decoded.
   */
  presentedIn(
    target: Address,
    callData: Hex,
    contracts: SchemeContracts,
  ): PresentedAuthorization | undefined;
}
