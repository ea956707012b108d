import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import type { FetchAnswer, FetchRequest, OpenAnswer } from '../../platform/fetch/safe-fetch.js';
import { readBase64Json } from '../../protocol/payment/payment-required.js';
import { McpSeller } from '../mcp-sellers/mcp-seller.js';
import type { KnownContracts } from '../rules/decode-typed-data.js';
import { eip3009Message, permit2Message } from '../rules/payment-message.js';
import type { TypedData } from '../rules/spending.js';
import type { Session } from '../session.js';
import { Authorizer } from '../signing/authorizer.js';
import { WalletSigner } from '../signing/signer.js';
import { WalletError } from '../wallet-error.js';
import { tagOf } from '../wallet-keys.js';
import { KNOWN_CONTRACTS, WALLET_SETTINGS } from '../wallet-tokens.js';
import { type ChargedDeal, notServed, type Purchase } from './charger.js';
import type { AcceptedOffer, Result } from './intent.js';
import { type SignedPayment, signedPayment } from './payment-header.js';
import { WalletFetch } from './wallet-fetch.js';

/** Pause before a seller that answers "pending" is asked again with the same payment. */
const PENDING_RETRY_MS = 1000;
/**
 * Errors of a request whose payment may have been sent before, also if the seller's name resolves to another address
 * now.
 */
const INDETERMINATE_ERRORS: ReadonlySet<string> = new Set(['fetch_failed', 'fetch_refused']);

interface Sending<A> {
  readonly signal: AbortSignal;
  readonly send: (request: FetchRequest, payment: SignedPayment, signal: AbortSignal) => Promise<A>;
}

/** Calls sellers, without a payment or with a charged one, which has the same signature each time. */
@Injectable()
export class Presenter {
  constructor(
    private readonly fetcher: WalletFetch,
    private readonly mcpSeller: McpSeller,
    @Inject(KNOWN_CONTRACTS) private readonly known: KnownContracts,
    private readonly authorizer: Authorizer,
    private readonly signer: WalletSigner,
    @Inject(WALLET_SETTINGS) private readonly settings: Pick<WalletConfig, 'fetchTimeoutMs'>,
  ) {}

  /** Without a payment. @throws WalletError */
  ask(wanted: Purchase): Promise<FetchAnswer> {
    const signal = AbortSignal.timeout(this.settings.fetchTimeoutMs);
    return wanted.tool === undefined
      ? this.fetcher.fetch(wanted, signal)
      : this.mcpSeller.call(wanted, wanted.tool, undefined, signal);
  }

  /** @returns `undefined` when it is unknown whether the seller got it. */
  present(
    session: Session,
    wanted: Purchase,
    charged: ChargedDeal,
  ): Promise<FetchAnswer | undefined> {
    const { fetcher, mcpSeller } = this;
    const signal = AbortSignal.timeout(this.settings.fetchTimeoutMs);
    const { tool } = wanted;
    const send: Sending<FetchAnswer>['send'] = (request, { header, payload }, ends) =>
      tool === undefined
        ? fetcher.present(request, header, ends)
        : mcpSeller.call(request, tool, payload, ends);
    return this.#present(session, wanted, charged, { signal, send });
  }

  /**
   * The same, with a body that is read while it arrives.
   *
   * @param signal - aborts the request and the body.
   */
  open(
    session: Session,
    wanted: Purchase,
    charged: ChargedDeal,
    signal: AbortSignal,
  ): Promise<OpenAnswer | undefined> {
    const { fetcher } = this;
    const send: Sending<OpenAnswer>['send'] = async (request, { header }, ends) => {
      const [name, value] = header;
      const answer = await fetcher.open(request, { [name]: value }, ends);
      if (isPending(answer)) await answer.start();
      return answer;
    };
    return this.#present(session, wanted, charged, { signal, send });
  }

  /** The header of an earlier payment, as proof for its receiver. */
  async headerOf(session: Session, deal: AcceptedOffer): Promise<readonly [string, string]> {
    return (await this.#signedPayment(session, deal)).header;
  }

  async #present<A extends Pick<FetchAnswer, 'status' | 'headers'>>(
    session: Session,
    wanted: Purchase,
    charged: ChargedDeal,
    { signal, send }: Sending<A>,
  ): Promise<A | undefined> {
    await this.authorizer.assertActive(session);
    const payment = await this.#sign(session, charged);
    const { url } = charged.deal;
    const isSameOrigin = new URL(url).origin === new URL(wanted.url).origin;
    const headers = isSameOrigin ? wanted.headers : {};
    const request = { url, method: wanted.method, headers, body: wanted.body };
    let answer: A | undefined;
    do {
      if (answer !== undefined) await sleep(PENDING_RETRY_MS);
      try {
        answer = await send(request, payment, signal);
      } catch (error) {
        if (!(error instanceof WalletError) || !INDETERMINATE_ERRORS.has(error.code)) throw error;
        return undefined;
      }
    } while (isPending(answer) && !signal.aborted);
    return answer;
  }

  async #sign(session: Session, { deal, isSigned }: ChargedDeal): Promise<SignedPayment> {
    const payment = await this.#signedPayment(session, deal);
    if (!isSigned) await this.authorizer.noteSigned(session, deal.spending);
    return payment;
  }

  async #signedPayment(session: Session, deal: AcceptedOffer): Promise<SignedPayment> {
    const { address } = session.wallet;
    const { spending } = deal;
    const { known, signer } = this;
    const token = known.token(spending.chainId, spending.asset);
    const proxy = known.permit2Proxy(spending.chainId);
    if (token === undefined || proxy === undefined) throw notServed();
    const terms = {
      from: address,
      payTo: spending.payTo,
      amount: spending.amount,
      validAfter: 0n,
      deadline: BigInt(spending.deadline),
      nonce: spending.nonce,
    };
    let message: TypedData | undefined;
    if (spending.method === 'permit2') message = permit2Message(token, proxy, terms);
    else if (token.eip712 !== undefined) {
      message = eip3009Message({ ...token, eip712: token.eip712 }, terms);
    }
    if (message === undefined) {
      throw new WalletError(
        'unavailable',
        'The token of this payment is no longer configured. The operator has to add it to WALLET_ASSETS again.',
      );
    }
    const key = tagOf(`${address}${spending.id}`);
    const signature = await signer.signAuthorized(session, message, key);
    return signedPayment(deal, address, proxy, signature);
  }
}

export function receiptOf({
  headers,
}: Pick<FetchAnswer, 'headers'>): ReturnType<typeof readBase64Json> {
  return readBase64Json(headers['payment-response'] ?? headers['x-payment-response']);
}

function isPending(answer: Pick<FetchAnswer, 'status' | 'headers'>): boolean {
  return receiptOf(answer)?.['errorReason'] === 'settlement_pending' && answer.status >= 400;
}

export function resultOf({ status, headers, body, isCutOff }: FetchAnswer): Result {
  const text = body.toString('utf8');
  const isText = Buffer.from(text, 'utf8').equals(body);
  return {
    httpStatus: status,
    contentType: headers['content-type'] ?? 'application/octet-stream',
    body: isText ? text : body.toString('base64'),
    encoding: isText ? 'utf8' : 'base64',
    isCutOff,
  };
}
