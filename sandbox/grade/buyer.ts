import { readOffers } from '../../src/facilitator/doctor/checks/read-offers.js';
import { trialPayment } from '../../src/facilitator/doctor/trial-payment.js';
import { DEFAULT_SCHEME_CONTRACTS } from '../../src/protocol/evm/contracts.js';
import { newTrialSigner } from '../../src/protocol/evm/token/token-trials.js';
import { readSentTerms } from '../../src/protocol/payment/payment-required.js';

/** The URL to buy, and its terms. */
interface Target {
  readonly url: string;
  readonly method: string;
  readonly body: string | undefined;
}

/** The result of one request with a payment. */
export interface Delivery {
  /** 0 where the connection broke; `undefined` where nothing was answered in time. */
  readonly status: number | undefined;
  /** Whether the buyer got what it asked for. */
  readonly isDelivered: boolean;
}

export interface SignedPayment {
  /** Of a key that was made for it and owns nothing. */
  readonly payer: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What keeps a seller from being graded; not a fault that is looked for. */
export class NotPlayable extends Error {}

const TERMS_PATIENCE_MS = 10_000;

/** A buyer without money: its payments are signed like those of any other. */
export class GradeBuyer {
  constructor(
    private readonly target: Target,
    private readonly chainIds: readonly number[],
    /** How long a buyer waits for an answer. */
    private readonly patienceMs: number,
  ) {}

  /** @throws NotPlayable where the seller does not ask for a payment that can be signed. */
  async sign(): Promise<SignedPayment> {
    const response = await this.#ask({}, TERMS_PATIENCE_MS).catch((error: unknown) => {
      throw new NotPlayable(`${this.target.url} does not answer.`, { cause: error });
    });
    const text = await response.text();
    if (response.status !== 402) {
      throw new NotPlayable(
        `${this.target.url} answers ${response.status} without a payment; 402 is expected.`,
      );
    }
    const terms = readSentTerms(response.headers.get('payment-required') ?? undefined, text);
    if (terms === undefined) throw new NotPlayable('The 402 cannot be read: see npm run doctor.');
    const { version, sent } = terms;
    const place = version === 2 ? 'header' : 'body';
    const { offers } = readOffers({ version, place, sent }, this.chainIds);
    const offer = offers.find(({ scheme }) => scheme === 'exact') ?? offers[0];
    if (offer === undefined) {
      throw new NotPlayable(
        'None of its offers can be paid here: see npm run doctor, and --network for other networks.',
      );
    }
    const signer = newTrialSigner();
    const now = Math.floor(Date.now() / 1000);
    const made = await trialPayment(offer, signer, DEFAULT_SCHEME_CONTRACTS, now);
    const { resource, extensions } = sent;
    const payment =
      version === 1
        ? made.paymentPayload
        : {
            ...made.paymentPayload,
            ...(resource !== undefined && { resource }),
            ...(extensions !== undefined && { extensions }),
          };
    const header = Buffer.from(JSON.stringify(payment)).toString('base64');
    return {
      payer: signer.address,
      headers: { [version === 1 ? 'X-PAYMENT' : 'PAYMENT-SIGNATURE']: header },
    };
  }

  async present({ headers }: SignedPayment): Promise<Delivery> {
    try {
      const response = await this.#ask(headers, this.patienceMs);
      await response.arrayBuffer();
      return { status: response.status, isDelivered: response.ok };
    } catch (error) {
      const isLate = error instanceof DOMException && error.name === 'TimeoutError';
      return { status: isLate ? undefined : 0, isDelivered: false };
    }
  }

  #ask(headers: Readonly<Record<string, string>>, patienceMs: number): Promise<Response> {
    const { url, method, body } = this.target;
    return fetch(url, {
      method,
      headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body }),
      signal: AbortSignal.timeout(patienceMs),
      redirect: 'manual',
    });
  }
}
