import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { PAYEE, TOKEN } from '../builders/protocol/schemes/exact/exact-payment.js';

/** Small sellers written by hand: a sound one, and some with one fault each. */

export type Planted =
  'delivers_twice' | 'delivers_without_success' | 'loses_paid_sale' | 'charges_again' | 'hangs';

interface GradedSellerOptions {
  readonly facilitatorUrl: string;
  readonly version: 1 | 2;
  readonly fault?: Planted;
  /** Of its requests to the facilitator. */
  readonly timeoutMs: number;
}

interface Said {
  readonly isValid?: boolean;
  readonly success?: boolean;
  readonly errorReason?: string;
}

/** Settles that take longer are too late for the seller that loses them. */
const LATE_MS = 4000;

export function gradedSeller(options: GradedSellerOptions): Server {
  const { facilitatorUrl, version, fault, timeoutMs } = options;
  const paid = new Set<string>();
  const seen = new Set<string>();
  const terms = termsOf(version);

  const ask = async (what: string, paymentPayload: unknown): Promise<Said> => {
    const [paymentRequirements] = terms.accepts;
    const response = await fetch(`${facilitatorUrl}/v${version}/${what}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ x402Version: version, paymentPayload, paymentRequirements }),
      ...(fault !== 'hangs' && { signal: AbortSignal.timeout(timeoutMs) }),
    });
    return (await response.json()) as Said;
  };
  const refuse = (response: ServerResponse): void => {
    if (version === 2) response.setHeader('PAYMENT-REQUIRED', base64(terms));
    response.writeHead(402, { 'content-type': 'application/json' });
    response.end(JSON.stringify(version === 1 ? terms : {}));
  };
  const deliver = (response: ServerResponse): void => {
    response.end('{"report":"All is well."}');
  };

  const sell = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const header = request.headers[version === 1 ? 'x-payment' : 'payment-signature'];
    if (typeof header !== 'string') {
      refuse(response);
      return;
    }
    // It remembers who has paid, and not that this was delivered.
    if (fault === 'delivers_twice' && paid.has(header)) {
      deliver(response);
      return;
    }
    // A guard against replays that also meets buyers whose payment is pending.
    if (fault === 'charges_again' && seen.has(header)) {
      refuse(response);
      return;
    }
    seen.add(header);
    const payment = JSON.parse(Buffer.from(header, 'base64').toString()) as unknown;
    if ((await ask('verify', payment)).isValid !== true) {
      refuse(response);
      return;
    }
    const begun = Date.now();
    const { success, errorReason } = await ask('settle', payment);
    // It gives its request up although the answer came.
    if (fault === 'loses_paid_sale' && Date.now() - begun > LATE_MS) {
      response.writeHead(504).end();
      return;
    }
    const isOptimist = fault === 'delivers_without_success';
    if (success === true || (isOptimist && errorReason === 'settlement_pending')) {
      paid.add(header);
      deliver(response);
    } else {
      refuse(response);
    }
  };
  return createServer((request, response) => {
    sell(request, response).catch(() => {
      response.writeHead(502).end();
    });
  });
}

function termsOf(version: 1 | 2) {
  const resource = 'http://127.0.0.1/report';
  const shared = { scheme: 'exact', asset: TOKEN, payTo: PAYEE, maxTimeoutSeconds: 300 };
  const extra = { name: 'A dollar', version: '1' };
  const about = { description: 'A report', mimeType: 'application/json' };
  return version === 1
    ? {
        x402Version: 1,
        error: 'Payment required',
        accepts: [
          { ...shared, ...about, resource, network: 'bsc', maxAmountRequired: '1000', extra },
        ],
      }
    : {
        x402Version: 2,
        error: 'Payment required',
        resource: { url: resource, ...about },
        accepts: [{ ...shared, network: 'eip155:56', amount: '1000', extra }],
      };
}

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64');
