import { z } from 'zod';
import type { HubSalesConfig } from '../../platform/config/hub-sales-settings.js';
import { boundedFetch } from '../../platform/fetch/bounded-fetch.js';
import { type JsonBounds, parseWithinBounds } from '../../protocol/payment/json-bounds.js';
import { GatewayUnavailableError } from '../errors.js';
import type {
  PaymentGateway,
  PresentedPayment,
  SettleReply,
  VerifyReply,
} from './payment-gateway.js';

/** A settle waits for the chain; a facilitator gives up before this. */
const FACILITATOR_TIMEOUT_MS = 60_000;
/** Bytes of an answer. */
const ANSWER_MAX_BYTES = 65_536;
const ANSWER_BOUNDS: JsonBounds = { maxDepth: 24, maxValues: 10_000 };

const Verified = z.object({ isValid: z.boolean(), invalidReason: z.string().optional() });
const Settled = z.object({
  success: z.boolean(),
  errorReason: z.string().optional(),
  transaction: z.string().default(''),
  network: z.string().default(''),
  payer: z.string().optional(),
});

/** A facilitator reached over HTTP, as any seller reaches it. */
export class HttpPaymentGateway implements PaymentGateway {
  constructor(private readonly facilitator: NonNullable<HubSalesConfig['facilitator']>) {}

  async verify(payment: PresentedPayment): Promise<VerifyReply> {
    return readAs(Verified, 'verify', await this.#post('verify', payment, {}));
  }

  async settle(payment: PresentedPayment, idempotencyKey: string): Promise<SettleReply> {
    const headers = { 'Idempotency-Key': idempotencyKey };
    return readAs(Settled, 'settle', await this.#post('settle', payment, headers));
  }

  async #post(
    what: 'verify' | 'settle',
    payment: PresentedPayment,
    more: Readonly<Record<string, string>>,
  ): Promise<unknown> {
    const { url, apiKey } = this.facilitator;
    try {
      const ask = boundedFetch(FACILITATOR_TIMEOUT_MS, ANSWER_MAX_BYTES);
      const response = await ask(`${url}/${what}`, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          ...(apiKey && { 'X-API-Key': apiKey.reveal() }),
          ...more,
        },
        body: JSON.stringify({ x402Version: 2, ...payment }),
      });
      return parseWithinBounds(await response.text(), ANSWER_BOUNDS);
    } catch (error) {
      throw new GatewayUnavailableError(what, error);
    }
  }
}

function readAs<T>(shape: z.ZodType<T>, what: string, answer: unknown): T {
  const parsed = shape.safeParse(answer);
  if (!parsed.success) throw new GatewayUnavailableError(what, parsed.error);
  return parsed.data;
}
