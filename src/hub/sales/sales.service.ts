import { Inject, Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { AppConfig } from '../../platform/config/app-config.js';
import { sendJson } from '../../platform/http/json.js';
import { addressGroup } from '../../platform/rate-limit/address-group.js';
import { HubAccess } from '../auth/hub-access.service.js';
import { HubStats } from '../hub-stats.js';
import type { ObjectName, StoredObject } from '../storage/storage-provider.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { paymentRequired } from './offer.js';
import type { SettleReply } from './payment-gateway.js';
import type { Price } from './price.js';
import { type SaleOutcome, Sales, type Showing } from './sales.js';

/** Seconds after which a payment under way is worth asking for again. */
const PENDING_RETRY_SECONDS = 2;

/** The file and the price of an offer. */
interface Offered {
  readonly price: Price;
  /** @throws HubRefusal where the operator has taken down the bytes that are sold now. */
  readonly assertServed: () => void;
}

/** Sales as requests and answers of a download (x402 V2, transport over HTTP). */
@Injectable()
export class SalesService {
  constructor(
    private readonly config: AppConfig,
    private readonly access: HubAccess,
    /** Absent where nothing is sold. */
    @Inject(Sales) private readonly sales: Sales | undefined,
    private readonly stats: HubStats,
  ) {}

  /**
   * @returns the bytes that may go out; `undefined` when the request was answered otherwise.
   * @throws HubRefusal
   */
  async open(
    request: Request,
    response: Response,
    { price, assertServed }: Offered,
    body: Buffer,
  ): Promise<StoredObject | undefined> {
    response.setHeader('Vary', VARY);
    const caller = await this.access.signerOf(request);
    const { signer } = caller ?? {};
    caller?.assertBody(body);
    if (this.sales === undefined) {
      if (signer === price.object.owner) return price.object;
      assertServed();
      throw HubRefusal.forbidden('the file is for sale, and this hub sells no files now');
    }
    const showing: Showing = { ...shownBy(request), signer };
    const maySettle = request.method === 'GET';
    const outcome = await this.sales.check(price, showing, maySettle, assertServed);
    return this.#answered(response, outcome, price);
  }

  /**
   * The same for a name that has no price, or stands for nothing any more, to who has bought it before.
   *
   * @returns `undefined` for who has not; `answered` when the request was answered otherwise.
   */
  async openSold(
    request: Request,
    response: Response,
    name: ObjectName,
  ): Promise<StoredObject | 'answered' | undefined> {
    const outcome = await this.sales?.held(name, shownBy(request));
    if (outcome?.kind !== 'open' && outcome?.kind !== 'pending') return undefined;
    response.setHeader('Vary', VARY);
    return this.#answered(response, outcome, undefined) ?? 'answered';
  }

  #answered(
    response: Response,
    outcome: SaleOutcome,
    price: Price | undefined,
  ): StoredObject | undefined {
    const reply = 'reply' in outcome ? outcome.reply : undefined;
    if (reply !== undefined) response.setHeader('PAYMENT-RESPONSE', encoded(replyView(reply)));
    response.setHeader('Cache-Control', 'no-store');
    switch (outcome.kind) {
      case 'open':
        if (outcome.token !== undefined) response.setHeader('Hub-Access', outcome.token);
        return outcome.object;
      case 'unpaid':
        if (price !== undefined) this.#demand(response, price, outcome.error);
        return undefined;
      case 'pending':
        this.stats.noteSale('pending');
        response.setHeader('Retry-After', PENDING_RETRY_SECONDS);
        sendJson(response, 503, {
          Type: 'hub',
          Message: 'settlement_pending: repeat the request with the same PAYMENT-SIGNATURE',
        });
        return undefined;
      case 'ended':
        throw HubRefusal.forbidden('the file is no longer for sale');
    }
  }

  #demand(response: Response, price: Price, error: string): void {
    this.stats.noteSale('offered');
    const publicUrl = this.config.hub.sales?.publicUrl ?? '';
    const body = paymentRequired(price, publicUrl, error);
    response.setHeader('PAYMENT-REQUIRED', encoded(body));
    sendJson(response, 402, body);
  }
}

/** Request headers that an answer depends on. */
const VARY = 'Accept, Authorization, PAYMENT-SIGNATURE, Hub-Access';

function shownBy(request: Request): Omit<Showing, 'signer'> {
  return {
    payment: request.get('payment-signature'),
    token: request.get('hub-access'),
    address: addressGroup(request.ip),
  };
}

/** Only what the protocol names: the rest is between the hub and its facilitator. */
function replyView({ success, errorReason, transaction, network, payer }: SettleReply): unknown {
  return {
    success,
    transaction,
    network,
    ...(errorReason !== undefined && { errorReason }),
    ...(payer !== undefined && { payer }),
  };
}

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64');
}
