import { createHash } from 'node:crypto';
import { type JsonObject, readOptionalObject } from '../../protocol/payment/wire-values.js';
import { DamagedObjectError, GatewayUnavailableError } from '../errors.js';
import type { ObjectName, StoredObject } from '../storage/storage-provider.js';
import type { SalesSecret } from './access-token.js';
import { declarationOf, fileTagOf, isAccepted, requirementsOf } from './offer.js';
import {
  hasFailed,
  isTransient,
  type PaymentGateway,
  type SettleReply,
} from './payment-gateway.js';
import { type ReadPayment, readPresented } from './presented-payment.js';
import type { Price } from './price.js';
import type { PaidSale, Sale, SaleStore } from './sale.js';

/** The longest time a payment may be good for: a sale is kept as long, so that it buys once. */
const DEADLINE_MAX_SECONDS = 86_400;

/** The parts of a request that can give access to a priced file. */
export interface Showing {
  /** `PAYMENT-SIGNATURE`. */
  readonly payment: string | undefined;
  /** `Hub-Access`. */
  readonly token: string | undefined;
  /** The signer of the request itself, lower case. */
  readonly signer: string | undefined;
  /** The network it comes from, as the limits group addresses. */
  readonly address: string;
}

/** The result of a request. */
export type SaleOutcome =
  /** The bytes may go out. */
  | {
      readonly kind: 'open';
      readonly object: StoredObject;
      /** Absent for the owner. */
      readonly token?: string;
      /** Where this request has paid. */
      readonly reply?: SettleReply;
    }
  /** To be paid. `reply` where a settlement has failed. */
  | { readonly kind: 'unpaid'; readonly error: string; readonly reply?: SettleReply }
  /** A payment is under way, or may be: to be asked again with the same header. */
  | { readonly kind: 'pending'; readonly reply: SettleReply | undefined }
  /** Nothing is sold any more. */
  | { readonly kind: 'ended' };

interface SalesParts {
  readonly gateway: PaymentGateway;
  readonly store: SaleStore;
  readonly secret: SalesSecret;
  /** Where clients reach the hub. */
  readonly publicUrl: string;
  /** The bytes of a payload from its beginning, each block verified. @throws DamagedObjectError */
  readonly read: (object: StoredObject) => AsyncIterable<Uint8Array>;
  /** @throws HubRefusal for bytes that the operator has taken down. */
  readonly assertServed: (object: StoredObject) => Promise<void>;
  /** Takes space for a new sale. @throws HubRefusal where Redis is nearly full. */
  readonly takeRoom: (bytes: number) => Promise<void>;
  /** Unix seconds. */
  readonly now: () => number;
  readonly failed: (error: unknown) => void;
  /** Gets the outcome of a payment. */
  readonly settled: (how: 'sold' | 'failed') => void;
}

/**
 * Sells files. Every paid buyer may download, and a buyer who may not has not paid: the bytes are
 * read and the sale is written before a payment is settled, and a request with the same payment
 * goes on where the last one stopped.
 *
 * A payment is public from its first broadcast on. So a header alone only proves that there was a
 * payment: it opens a file only for the network that it came from first. Elsewhere the payer shows
 * its token, or signs the request.
 */
export class Sales {
  readonly #settling = new Map<string, Promise<SaleOutcome>>();

  constructor(private readonly parts: SalesParts) {}

  /**
   * @param assertOffered - throws where the bytes that are sold now are taken down. It is not
   *   called for a buyer of earlier bytes of that name.
   * @throws DamagedObjectError, StorageUnavailableError, RedisUnavailableError
   */
  async check(
    price: Price,
    showing: Showing,
    maySettle: boolean,
    assertOffered: () => void,
  ): Promise<SaleOutcome> {
    const { signer, payment } = showing;
    if (signer === price.object.owner) return { kind: 'open', object: price.object };
    const held = await this.held(price.object, showing, price.object);
    if (held?.kind === 'open' || held?.kind === 'pending') return held;
    assertOffered();
    if (held !== undefined) return held;
    if (signer !== undefined) {
      const outcome = await this.#bySigner(price, signer);
      if (outcome !== undefined) return outcome;
    }
    const unpaid: SaleOutcome = this.#hasEnded(price)
      ? { kind: 'ended' }
      : { kind: 'unpaid', error: 'PAYMENT-SIGNATURE header is required' };
    if (payment === undefined || !maySettle) return unpaid;
    const presented = readPresented(payment);
    if (presented === undefined) return { kind: 'unpaid', error: 'invalid_payload' };
    return this.#byPayment(price, presented, showing.address);
  }

  /**
   * A sale stays valid after any change of its price or its name.
   *
   * @param now - the bytes of that name now, for where the record of the sale was lost.
   * @returns `undefined` where the caller has no sale.
   */
  async held(
    name: ObjectName,
    { token, payment, address }: Pick<Showing, 'token' | 'payment' | 'address'>,
    now?: StoredObject,
  ): Promise<SaleOutcome | undefined> {
    if (token !== undefined) {
      const outcome = await this.#byToken(name, token, now);
      if (outcome !== undefined) return outcome;
    }
    const presented = payment === undefined ? undefined : readPresented(payment);
    if (presented === undefined) return undefined;
    const known = await this.parts.store.find(presented.authorizationId);
    return known && this.#again(known, name, presented, address);
  }

  async #byToken(
    name: ObjectName,
    token: string,
    now: StoredObject | undefined,
  ): Promise<SaleOutcome | undefined> {
    const access = this.parts.secret.accessOf(token, this.parts.now());
    if (access === undefined) return undefined;
    const sale = await this.parts.store.find(access.authorizationId);
    const object = sale?.object ?? now;
    return object !== undefined && fileTagOf(object) === access.fileTag && isOf(object, name)
      ? { kind: 'open', object, token }
      : undefined;
  }

  async #bySigner(price: Price, payer: string): Promise<SaleOutcome | undefined> {
    const sale = await this.parts.store.current(payer, fileTagOf(price.object));
    if (sale === undefined) return undefined;
    const outcome = await this.#finish(sale);
    return outcome.kind === 'unpaid' ? undefined : outcome;
  }

  async #byPayment(price: Price, presented: ReadPayment, address: string): Promise<SaleOutcome> {
    if (this.#hasEnded(price)) return { kind: 'ended' };
    const problem = this.#problemOf(price, presented);
    if (problem !== undefined) return { kind: 'unpaid', error: problem };
    const payment = {
      paymentPayload: this.#declared(price, presented),
      paymentRequirements: requirementsOf(price),
    };
    const refused = await this.#refusalOf(payment);
    if (refused !== undefined) return refused;
    const { object, accessSeconds } = price;
    const { authorizationId, signedTag, payer } = presented;
    const earlier = await this.parts.store.current(payer, fileTagOf(object));
    if (earlier !== undefined) {
      const outcome = await this.#earlier(earlier, address);
      if (outcome !== undefined) return outcome;
    }
    const sale: Sale = {
      ...payment,
      authorizationId,
      signedTag,
      payer,
      object,
      accessSeconds,
      address,
      deadline: Number(presented.deadline),
    };
    await this.parts.takeRoom(Buffer.byteLength(JSON.stringify(sale)));
    const begun = await this.parts.store.begin(sale);
    if (begun.authorizationId !== authorizationId) {
      return (await this.#earlier(begun, address)) ?? { kind: 'pending', reply: undefined };
    }
    return this.#again(begun, object, presented, address);
  }

  /**
   * The file's declaration to the facilitator is the hub's own, whatever the buyer has made of it.
   */
  #declared(price: Price, { payload }: ReadPayment): JsonObject {
    const { resource, extensions } = declarationOf(price, this.parts.publicUrl);
    const sent = readOptionalObject(payload['extensions']);
    return { ...payload, resource, extensions: { ...sent, ...extensions } };
  }

  /** Why a payment is not even shown to the facilitator. */
  #problemOf(price: Price, { accepted, deadline }: ReadPayment): string | undefined {
    if (!isAccepted(accepted, requirementsOf(price))) return 'invalid_payment_requirements';
    const now = BigInt(this.parts.now());
    if (deadline <= now) return 'payment_expired';
    if (deadline > now + BigInt(DEADLINE_MAX_SECONDS)) return 'payment_valid_for_too_long';
    return undefined;
  }

  /** A settled payment may have been settled for this hub: only its idempotency key tells. */
  async #refusalOf(
    payment: Parameters<PaymentGateway['verify']>[0],
  ): Promise<SaleOutcome | undefined> {
    try {
      const { isValid, invalidReason: error = '' } = await this.parts.gateway.verify(payment);
      if (isValid || error === 'duplicate_settlement') return undefined;
      return isTransient(error) ? { kind: 'pending', reply: undefined } : { kind: 'unpaid', error };
    } catch (error) {
      if (!(error instanceof GatewayUnavailableError)) throw error;
      this.parts.failed(error);
      return { kind: 'pending', reply: undefined };
    }
  }

  /** The same payment once more. */
  async #again(
    sale: Sale,
    name: ObjectName,
    presented: ReadPayment,
    address: string,
  ): Promise<SaleOutcome> {
    const isSame =
      sale.signedTag === presented.signedTag && sale.address === address && isOf(sale.object, name);
    return isSame ? this.#finish(sale) : { kind: 'unpaid', error: 'duplicate_settlement' };
  }

  /** Another payment of a payer that has a sale of this file: one access is never paid twice. */
  async #earlier(sale: Sale, address: string): Promise<SaleOutcome | undefined> {
    if (sale.address !== address) return { kind: 'unpaid', error: 'already_paid_elsewhere' };
    const outcome = await this.#finish(sale);
    return outcome.kind === 'unpaid' ? undefined : outcome;
  }

  /** One at a time for a sale: concurrent requests get the same answer. */
  #finish(sale: Sale): Promise<SaleOutcome> {
    const { authorizationId } = sale;
    const running = this.#settling.get(authorizationId);
    if (running !== undefined) return running;
    const finishing = this.#finishOnce(sale).finally(() => {
      this.#settling.delete(authorizationId);
    });
    this.#settling.set(authorizationId, finishing);
    return finishing;
  }

  async #finishOnce(sale: Sale): Promise<SaleOutcome> {
    if (sale.paid !== undefined) return this.#opened(sale, sale.paid);
    // A payment is not taken for bytes that will not be sent.
    await this.parts.assertServed(sale.object);
    await this.#assertWhole(sale.object);
    const reply = await this.#settled(sale);
    if (reply === undefined) return { kind: 'pending', reply: undefined };
    if (reply.success) {
      const until = this.parts.now() + sale.accessSeconds;
      const kept = await this.parts.store.complete(sale, { until, reply: { ...reply } });
      this.parts.settled('sold');
      return this.#opened(kept, kept.paid ?? { until, reply: { ...reply } });
    }
    if (!hasFailed(reply)) return { kind: 'pending', reply };
    await this.parts.store.drop(sale);
    this.parts.settled('failed');
    return { kind: 'unpaid', error: reply.errorReason ?? 'unexpected_settle_error', reply };
  }

  async #settled(sale: Sale): Promise<SettleReply | undefined> {
    const { paymentPayload, paymentRequirements, payer, authorizationId, object } = sale;
    const key = this.parts.secret.idempotencyKeyOf(object.sha256, payer, authorizationId);
    try {
      return await this.parts.gateway.settle({ paymentPayload, paymentRequirements }, key);
    } catch (error) {
      if (!(error instanceof GatewayUnavailableError)) throw error;
      this.parts.failed(error);
      return undefined;
    }
  }

  #opened({ authorizationId, payer, object }: Sale, { until, reply }: PaidSale): SaleOutcome {
    if (until <= this.parts.now()) return { kind: 'unpaid', error: 'access_ended' };
    const fileTag = fileTagOf(object);
    const token = this.parts.secret.tokenOf({ authorizationId, payer, fileTag, until });
    return { kind: 'open', object, token, reply };
  }

  /** A payment is not taken for missing bytes. */
  async #assertWhole(object: StoredObject): Promise<void> {
    const hash = createHash('sha256');
    for await (const piece of this.parts.read(object)) hash.update(piece);
    if (hash.digest('hex') !== object.sha256) {
      throw new DamagedObjectError(object.volume, object.start, 0);
    }
  }

  #hasEnded({ until }: Price): boolean {
    return until !== undefined && until <= this.parts.now();
  }
}

/** Whether these bytes were sold under this name. */
function isOf({ owner, id }: StoredObject, name: ObjectName): boolean {
  return owner === name.owner && id === name.id;
}
