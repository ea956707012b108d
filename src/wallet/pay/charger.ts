import { createHash, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { formatUnits } from 'viem';
import { AppConfig } from '../../platform/config/app-config.js';
import type { FetchRequest } from '../../platform/fetch/safe-fetch.js';
import { ApprovalRequests, type WantedApproval } from '../asks/approval-requests.js';
import type { Ask } from '../asks/ask.js';
import { storedSpending } from '../budget/due.js';
import type { ToolCall } from '../mcp-sellers/mcp-seller.js';
import { type KnownContracts, spendingOf } from '../rules/decode-typed-data.js';
import { VALIDITY_MAX_SECONDS } from '../rules/evaluate.js';
import { unitsAtMost } from '../rules/units-at-most.js';
import type { Session } from '../session.js';
import {
  type Approval,
  askRefusal,
  type Authorized,
  Authorizer,
  type NeedsOwner,
} from '../signing/authorizer.js';
import { WalletError } from '../wallet-error.js';
import { KNOWN_CONTRACTS, WALLET_CLOCK, type WalletClock } from '../wallet-tokens.js';
import { Balances } from './balances.js';
import {
  type AcceptedOffer,
  chargeCountOf,
  type Intent,
  IntentStore,
  methodOf,
  requestDigest,
  type StoredIntent,
  type StoredRecord,
} from './intent.js';
import type { Offer, PaymentRequired } from './offer.js';
import { PurchaseRoom } from './purchase-room.js';

/** Stored with an intent and in the journal, so the seller's text is limited. */
const DEAL_MAX_CHARACTERS = 16_384;
/** Bytes that are counted for a request to the owner, with its approval and its end. */
const ASK_BYTES = 16_384;

export interface Purchase extends FetchRequest {
  /** The MCP tool to call at the URL; absent for a plain HTTP request. */
  readonly tool?: ToolCall | undefined;
  /** The most to pay, in whole tokens, as a decimal. */
  readonly maxAmount: string;
  /** The buyer's name for this one purchase. */
  readonly intentId: string;
  /** The name under which it is saved at the hub; absent for an answer that is returned directly. */
  readonly save?: { readonly name: string } | undefined;
}

/** A payment that is charged and may be signed. */
export interface ChargedDeal extends StoredRecord {
  readonly kind: 'charged';
  readonly deal: AcceptedOffer;
  /** The journal records that it was signed. */
  readonly isSigned: boolean;
}

/** Or the result of another attempt with this intent. */
type ChargeResult =
  | ChargedDeal
  | ({ readonly kind: 'exists' } & StoredRecord)
  /** Nothing is charged before the owner has approved. */
  | { readonly kind: 'asked'; readonly ask: Ask };

/** Where an intent is stored, what it replaces, and the approval for it. */
interface Placed {
  readonly record: string;
  readonly replaces: string;
  readonly approval?: Approval | undefined;
}

type Answered = Exclude<Authorized, NeedsOwner>;

interface NeededApproval {
  readonly kind: 'needs_approval';
  readonly approval: WantedApproval;
  /** The open request to the owner, if there is one. */
  readonly waiting: Ask | undefined;
}

/** Charges the budget for the payment of an intent. Both are stored before the payment is signed. */
@Injectable()
export class Charger {
  constructor(
    @Inject(KNOWN_CONTRACTS) private readonly known: KnownContracts,
    private readonly authorizer: Authorizer,
    private readonly intents: IntentStore,
    private readonly balances: Balances,
    private readonly approvals: ApprovalRequests,
    @Inject(PurchaseRoom) private readonly room: Pick<PurchaseRoom, 'assertRecord'>,
    private readonly config: AppConfig,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {}

  /**
   * Takes the first offer, in the seller's order, that the rules and the balance allow. Offers that
   * need the owner's approval come last.
   *
   * @param url - the URL that made the offers.
   * @param replaces - the record of an ended payment; empty for none.
   */
  async charge(
    session: Session,
    wanted: Purchase,
    required: PaymentRequired & { readonly url: string },
    replaces: string,
  ): Promise<ChargeResult> {
    let reason = new WalletError(
      'no_acceptable_offer',
      `None of the ${required.offered} offers is an exact payment in a token this wallet knows.`,
    );
    let needed: NeededApproval | undefined;
    for (const offer of required.offers) {
      try {
        checkMaxAmount(offer, wanted.maxAmount);
        await this.balances.check(session.wallet.address, offer.token, offer.amount);
        const deal = this.#dealOf(session, wanted, required, offer);
        const result = await this.#chargeOffer(session, wanted, deal, replaces);
        if (result.kind !== 'needs_approval') return result;
        if (needed?.waiting === undefined) needed = result.waiting ? result : (needed ?? result);
      } catch (error) {
        if (!(error instanceof WalletError) || !isAboutOffer(error)) throw error;
        reason = error;
      }
    }
    if (needed === undefined) throw reason;
    const { waiting, approval } = needed;
    if (waiting !== undefined) return { kind: 'asked', ask: waiting };
    await this.room.assertRecord(session.wallet.address, ASK_BYTES);
    return { kind: 'asked', ask: await this.approvals.ask(session, approval) };
  }

  /**
   * For a payment of an attempt that may have ended at any step: before its charge was in the journal, or before a
   * check against restored data. The present rules decide.
   */
  async chargeAgain(
    session: Session,
    wanted: Purchase,
    stored: StoredRecord,
  ): Promise<ChargeResult> {
    const { intent, record } = stored;
    const { deal } = intent;
    if (deal === undefined) return { kind: 'exists', ...stored };
    const placed = { record, replaces: record };
    const { ask } = deal;
    const approval = ask === undefined ? undefined : ({ ask, revision: 'charged' } as const);
    const authorized = await this.#authorize(session, wanted, deal, { ...placed, approval });
    // It was charged under rules without approval, and may be signed: a request for approval now is too late for it.
    if (authorized.kind === 'needs_owner') {
      throw WalletError.refused(askRefusal(authorized.rule, deal.decimals));
    }
    return this.#resultOf(session, wanted, authorized, { intent, record, deal });
  }

  /** With the owner's approval, if the rules require it and it was given. */
  async #chargeOffer(
    session: Session,
    wanted: Purchase,
    deal: AcceptedOffer,
    replaces: string,
  ): Promise<ChargeResult | NeededApproval> {
    const charged = await this.#chargeDeal(session, wanted, deal, { replaces });
    if (charged.kind !== 'needs_owner') return charged;
    const { rule, revision } = charged;
    const approval = { wanted, deal, rule, revision };
    const standing = await this.approvals.answerTo(session, approval);
    if (standing?.state === 'approved') {
      const ask = standing.ask.id;
      const placed = { replaces, approval: { ask, revision } };
      const paid = await this.#chargeDeal(session, wanted, { ...deal, ask }, placed);
      if (paid.kind !== 'needs_owner') return paid;
    }
    const waiting = standing?.state === 'waiting' ? standing.ask : undefined;
    return { kind: 'needs_approval', approval, waiting };
  }

  #dealOf(
    session: Session,
    wanted: Purchase,
    { url, resource, extensions }: PaymentRequired & { readonly url: string },
    { token, requirements, x402Version, maxTimeoutSeconds, ...offer }: Offer,
  ): AcceptedOffer {
    const lifeSeconds = Math.floor(Math.min(maxTimeoutSeconds, VALIDITY_MAX_SECONDS));
    const spending = spendingOf(token, offer.method, {
      from: session.wallet.address,
      payTo: offer.payTo,
      amount: offer.amount,
      validAfter: 0n,
      deadline: BigInt(this.now() + lifeSeconds),
      nonce: BigInt(`0x${randomBytes(32).toString('hex')}`),
    });
    const { symbol, decimals } = token;
    return {
      x402Version,
      url,
      method: methodOf(wanted),
      requirements,
      resource,
      extensions,
      spending,
      symbol,
      decimals,
    };
  }

  async #chargeDeal(
    session: Session,
    wanted: Purchase,
    deal: AcceptedOffer,
    { replaces, approval }: { readonly replaces: string; readonly approval?: Approval },
  ): Promise<ChargeResult | NeedsOwner> {
    const { url, intentId } = wanted;
    const intent: Intent = {
      v: 1,
      state: 'reserved',
      request: requestDigest(wanted),
      url,
      method: methodOf(wanted),
      at: this.now(),
      deal,
    };
    const stored = storedIntent(intent);
    if (JSON.stringify(stored).length > DEAL_MAX_CHARACTERS) {
      throw new WalletError('no_acceptable_offer', 'The offer is too large.');
    }
    const charged = chargeCountOf(replaces) + 1;
    const record = this.intents.textOf(session.wallet.address, intentId, stored, charged);
    await this.room.assertRecord(session.wallet.address, record.length);
    const placed = { record, replaces, approval };
    const authorized = await this.#authorize(session, wanted, deal, placed);
    if (authorized.kind === 'needs_owner') return authorized;
    return this.#resultOf(session, wanted, authorized, { intent, record, deal });
  }

  async #authorize(
    session: Session,
    { intentId }: Purchase,
    deal: AcceptedOffer,
    { approval, ...placed }: Placed,
  ): Promise<Authorized> {
    const { spending } = deal;
    const token = this.known.token(spending.chainId, spending.asset);
    if (token === undefined) throw notServed();
    return this.authorizer.authorize(session, {
      signable: { kind: 'payment', spending, token },
      what: 'payment_pay',
      digest: createHash('sha256')
        .update(JSON.stringify(storedDeal(deal)))
        .digest('base64url'),
      intent: { id: intentId, ...placed, lifeSeconds: this.config.retentionSeconds },
      ...(approval !== undefined && { approval }),
    });
  }

  async #resultOf(
    session: Session,
    { intentId }: Purchase,
    authorized: Answered,
    own: StoredRecord & { readonly deal: AcceptedOffer },
  ): Promise<ChargeResult> {
    if (authorized.kind !== 'intent_exists') {
      return { kind: 'charged', ...own, isSigned: isSignedAs(authorized) };
    }
    const first = await this.intents.read(session.wallet.address, intentId);
    if (first === undefined) {
      throw new WalletError(
        'unavailable',
        'The intent exists but could not be read. Repeat the request with the same intent.',
      );
    }
    return { kind: 'exists', ...first };
  }
}

function isSignedAs(authorized: Exclude<Answered, { kind: 'intent_exists' }>): boolean {
  return authorized.kind === 'charged' && authorized.isSigned;
}

export function storedIntent({ deal, ...rest }: Intent): StoredIntent {
  return { ...rest, ...(deal !== undefined && { deal: storedDeal(deal) }) };
}

function storedDeal(
  deal: AcceptedOffer,
): Omit<AcceptedOffer, 'spending'> & { spending: ReturnType<typeof storedSpending> } {
  return { ...deal, spending: storedSpending(deal.spending) };
}

function checkMaxAmount({ amount, token }: Offer, maxAmount: string): void {
  if (amount <= unitsAtMost(maxAmount, token.decimals)) return;
  throw WalletError.refused({
    rule: 'max_amount',
    message: `The price is ${formatUnits(amount, token.decimals)} ${token.symbol}, which is more than "maxAmount" ${maxAmount}.`,
  });
}

export function notServed(): WalletError {
  return new WalletError(
    'unavailable',
    'This service no longer serves the network of this payment.',
  );
}

/** Whether another offer of the same seller may succeed. */
function isAboutOffer({ code }: WalletError): boolean {
  return ['policy_violation', 'INSUFFICIENT_FUNDS', 'no_acceptable_offer'].includes(code);
}
